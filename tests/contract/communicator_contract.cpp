#include "contract/communicator_contract.hpp"

#include "contract/cases.hpp"

namespace sherd::contract {

const std::vector<CommunicatorCase>& communicator_cases() {
  static const std::vector<CommunicatorCase> all = [] {
    std::vector<CommunicatorCase> cases = collective_cases();
    for (CommunicatorCase& work : work_cases()) {
      cases.push_back(work);
    }
    return cases;
  }();
  return all;
}

}  // namespace sherd::contract
