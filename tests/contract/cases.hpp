#pragma once

#include <vector>

#include "contract/communicator_contract.hpp"

namespace sherd::contract {

// The parts of the contract, one file each.
[[nodiscard]] std::vector<CommunicatorCase> collective_cases();
[[nodiscard]] std::vector<CommunicatorCase> work_cases();

}  // namespace sherd::contract
