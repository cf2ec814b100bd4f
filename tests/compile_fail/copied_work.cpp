#include <utility>

#include "sherd/comm/work.hpp"

/// An operation in flight has one owner.
sherd::comm::Work take(sherd::comm::Work& work) {
#ifdef SHERD_MISUSE
  return work;
#else
  return std::move(work);
#endif
}
