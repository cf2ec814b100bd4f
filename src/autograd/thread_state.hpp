#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace sherd::autograd {

class CheckpointFrame;

/// What operations of this thread are doing.
struct ThreadState {
  bool grad_enabled = true;
  bool saw_gradient = false;  ///< an operation had an input that wants a gradient (recorded or not)
  int backward_depth = 0;
  std::shared_ptr<CheckpointFrame> recording_frame;  ///< saved tensors are dropped into this one
  CheckpointFrame* recomputing_frame = nullptr;  ///< saved tensors are brought back for this one
  std::function<void()> interlude;               ///< called between operations, if set
};

[[nodiscard]] ThreadState& thread_state() noexcept;

/// Gives a variable another value for its lifetime.
template <class T>
class Scoped {
 public:
  Scoped(T& variable, T value) : variable_(variable), previous_(std::move(variable)) {
    variable_ = std::move(value);
  }
  ~Scoped() { variable_ = std::move(previous_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T previous_;
};

}  // namespace sherd::autograd
