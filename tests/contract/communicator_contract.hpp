#pragma once

#include <string>
#include <vector>

#include "sherd/comm/communicator.hpp"

namespace sherd::contract {

/// One thing every backend must do. `run` is called by all ranks together and reports through
/// GoogleTest; it leaves the communicator usable.
struct CommunicatorCase {
  std::string name;
  void (*run)(comm::Communicator&);
};

/// What holds on every backend.
[[nodiscard]] const std::vector<CommunicatorCase>& communicator_cases();

/// What holds on backends whose ranks share memory as well.
[[nodiscard]] const std::vector<CommunicatorCase>& shared_memory_cases();

/// What holds where ranks that disagree are found out at once. The communicator is unusable
/// afterwards: each case gets one of its own by duplicate().
[[nodiscard]] const std::vector<CommunicatorCase>& mismatch_cases();

}  // namespace sherd::contract
