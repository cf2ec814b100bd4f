#include "sherd/runtime/stream.hpp"

#include "sherd/base/check.hpp"

namespace sherd::runtime {

double Event::seconds_since(const Event& earlier) const {
  expect(state_ != nullptr && earlier.state_ != nullptr,
         "time between events that were never recorded");
  return state_->seconds_since(*earlier.state_);
}

}  // namespace sherd::runtime
