#include "io/disk/background_priority.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sherd::io {

void take_background_priority() noexcept {
  constexpr int kNice = 5;
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(::setpriority(PRIO_PROCESS, thread, kNice));  // on Linux, of the thread
}

}  // namespace sherd::io
