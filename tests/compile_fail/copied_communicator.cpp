#include <memory>

#include "sherd/comm/communicator.hpp"

/// Copying would be a collective call in disguise; duplicate() says what it is.
std::unique_ptr<sherd::comm::Communicator> another(sherd::comm::Communicator& comm) {
#ifdef SHERD_MISUSE
  sherd::comm::Communicator copy = comm;
  return copy.duplicate();
#else
  return comm.duplicate();
#endif
}
