#pragma once

namespace sherd::train {

/// While one lives SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 ask the run to stop after the current step.
/// A SIGINT after the first signal ends the process at once; the others may come again, since batch
/// systems deliver one request by several ways. The program makes one before MPI starts, so that a
/// signal in that time is remembered; those made while another lives share its answer. Not for use
/// by several threads. Local: ranks agree on the flag themselves.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] bool requested() const noexcept;
  /// The first signal's number, 0 before there was one.
  [[nodiscard]] int number() const noexcept;
};

}  // namespace sherd::train
