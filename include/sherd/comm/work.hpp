#pragma once

#include <memory>

namespace sherd::comm {

/// What an unfinished operation needs to be finished; one subclass per backend.
class WorkState {
 public:
  virtual ~WorkState() = default;
  /// Returns whether the operation is complete, making progress if it can. Throws CommError.
  virtual bool test() = 0;
  /// Blocks until the operation is complete, or makes the compute stream do so. Throws CommError.
  virtual void wait() = 0;
  /// Blocks until the operation is complete. Throws CommError.
  virtual void synchronize() { wait(); }
};

/// One collective operation in flight. Move-only. The caller's buffers must stay valid and
/// untouched until wait() has returned or test() has returned true. Dropping an unfinished Work
/// waits for it.
///
/// Operations on device memory are ordered by streams. They begin after everything the compute
/// stream had been given when they were issued; wait() returns at once and has what is given to the
/// compute stream from then on begin after the operation. So code that waits before it uses a
/// result is right for either kind of memory, as long as kernels and copies of the compute stream
/// do the using. What the host itself is to read needs synchronize().
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
  /// Local; blocks, on a device the compute stream and not the caller. Throws what the operation
  /// threw. A second call does nothing.
  void wait();
  /// Local; blocks the caller wherever the memory is. In place of wait().
  void synchronize();

 private:
  void drop() noexcept;

  std::unique_ptr<WorkState> state_;
};

}  // namespace sherd::comm
