#pragma once

#include <cstdint>
#include <string>

namespace sherd::io {

/// When a process of this machine began, in clock ticks since the machine started; 0 when there is
/// no such process. With the process number it tells a process from a later one of that number.
[[nodiscard]] std::int64_t process_start(std::int64_t pid);

/// A process among all that ever ran on any machine.
struct ProcessIdentity {
  std::string host;
  std::string boot;  ///< identifies the machine's start: pids and ticks begin anew with each
  std::int64_t pid = 0;
  std::int64_t started = 0;  ///< process_start(pid)
  /// Of the process numbers: a container counts its own. Empty: not known.
  std::string pid_namespace = {};
};

[[nodiscard]] ProcessIdentity this_process();

[[nodiscard]] bool is_this_process(const ProcessIdentity& process);

enum class ProcessState : std::uint8_t {
  running,   ///< on this machine, and it is not this one
  gone,      ///< it has ended, or is this process
  elsewhere  ///< on another machine or in another container: nobody here can tell
};
/// Whether the process numbers of `process` are those of this process.
[[nodiscard]] bool shares_process_numbers(const ProcessIdentity& process);
[[nodiscard]] ProcessState state_of(const ProcessIdentity& process);

}  // namespace sherd::io
