// To be preloaded: a file system without locks, as some network file systems are mounted. Every
// flock() and every lock by fcntl() fails with the error that SHERD_SHIM_LOCKS names.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

int refuse() {
  const char* name = std::getenv("SHERD_SHIM_LOCKS");
  errno = name != nullptr && std::strcmp(name, "ENOSYS") == 0 ? ENOSYS : ENOLCK;
  return -1;
}

bool is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

using Fcntl = int (*)(int, int, void*);

int pass_on(int fd, int command, void* argument) {
  static const auto real = reinterpret_cast<Fcntl>(dlsym(RTLD_NEXT, "fcntl64"));
  return is_lock(command) ? refuse() : real(fd, command, argument);
}

}  // namespace

extern "C" {

int flock(int, int) noexcept { return refuse(); }

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return pass_on(fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return pass_on(fd, command, argument);
}

}  // extern "C"
