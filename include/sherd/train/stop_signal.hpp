#pragma once

namespace sherd::train {

/// While it lives SIGINT, SIGTERM and SIGUSR1 ask the run to stop after the current step; a second
/// one ends the process at once. One instance at a time. Local: ranks agree on the flag themselves.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] bool requested() const noexcept;
  /// The signal's number, 0 before there was one.
  [[nodiscard]] int number() const noexcept;
};

}  // namespace sherd::train
