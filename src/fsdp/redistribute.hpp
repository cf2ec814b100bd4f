#pragma once

#include "sherd/comm/communicator.hpp"
#include "sherd/dtensor/state_dict.hpp"

namespace sherd::fsdp {

/// Copies every tensor of `from` into the tensor of the same name in `to`, however either is cut
/// over the ranks of `world`. Collective, blocking; holds one whole tensor at a time.
void redistribute(const dtensor::StateDict& from, const dtensor::StateDict& to,
                  comm::Communicator& world);

}  // namespace sherd::fsdp
