#include "io/disk/process_identity.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "sherd/base/host_name.hpp"

namespace sherd::io {

std::int64_t process_start(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  // The program's name, in parentheses, may hold anything; 19 fields lie between it and the time.
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return 0;
  }
  std::istringstream fields(line.substr(name_end + 1));
  char state = 'X';
  fields >> state;
  if (state == 'Z' || state == 'X') {  // killed, and nobody has asked for its exit code yet
    return 0;
  }
  std::string skipped;
  for (int i = 0; i < 18; ++i) {
    fields >> skipped;
  }
  std::int64_t start = 0;
  fields >> start;
  return start;
}

ProcessIdentity this_process() {
  const std::int64_t pid = ::getpid();
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  std::error_code unknown;
  const auto numbers = std::filesystem::read_symlink("/proc/self/ns/pid", unknown);
  return {host_name(), boot, pid, process_start(pid), numbers.string()};
}

bool is_this_process(const ProcessIdentity& process) {
  const ProcessIdentity self = this_process();
  return process.host == self.host && process.boot == self.boot && process.pid == self.pid &&
         process.started == self.started;
}

bool shares_process_numbers(const ProcessIdentity& process) {
  const ProcessIdentity self = this_process();
  return process.host == self.host && process.boot == self.boot &&
         process.pid_namespace == self.pid_namespace;
}

ProcessState state_of(const ProcessIdentity& process) {
  const ProcessIdentity self = this_process();
  const bool other_numbers =
      !process.pid_namespace.empty() && process.pid_namespace != self.pid_namespace;
  if (process.host != self.host || (process.boot == self.boot && other_numbers)) {
    return ProcessState::elsewhere;
  }
  const bool running = process.boot == self.boot && process.pid != self.pid &&
                       process.started != 0 && process_start(process.pid) == process.started;
  return running ? ProcessState::running : ProcessState::gone;
}

}  // namespace sherd::io
