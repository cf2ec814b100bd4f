#pragma once

#include <functional>

#include "sherd/comm/communicator.hpp"

namespace sherd::train {

/// Runs `body` on every rank of `comm` and waits until all have. When any rank's threw ConfigError
/// or IoError, every rank throws ConfigError with the message of the lowest such rank (named,
/// unless all ranks failed alike). Collective, blocking. Other exceptions pass through.
void agree(comm::Communicator& comm, const std::function<void()>& body);

}  // namespace sherd::train
