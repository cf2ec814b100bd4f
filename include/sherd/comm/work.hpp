#pragma once

#include <memory>

namespace sherd::comm {

/// What an unfinished operation needs to be finished; one subclass per backend.
class WorkState {
 public:
  virtual ~WorkState() = default;
  /// Returns whether the operation is complete, making progress if it can. Throws CommError.
  virtual bool test() = 0;
  /// Blocks until the operation is complete. Throws CommError.
  virtual void wait() = 0;
};

/// One collective operation in flight. Move-only. The caller's buffers must stay valid and
/// untouched until wait() has returned or test() has returned true. Dropping an unfinished Work
/// waits for it.
class [[nodiscard]] Work {
 public:
  /// An operation that is already complete.
  Work() noexcept = default;
  explicit Work(std::unique_ptr<WorkState> state) noexcept;
  Work(Work&&) noexcept = default;
  Work& operator=(Work&& other) noexcept;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work();

  /// Local; true once the operation is complete. Throws what the operation threw.
  [[nodiscard]] bool test();
  /// Local, blocking. Throws what the operation threw. A second call does nothing.
  void wait();

 private:
  void drop() noexcept;

  std::unique_ptr<WorkState> state_;
};

}  // namespace sherd::comm
