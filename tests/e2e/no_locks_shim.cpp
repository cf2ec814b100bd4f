// To be preloaded: a file system without locks, as some network file systems are mounted. Every
// flock() and every lock by fcntl() fails with the error that SHERD_SHIM_LOCKS names; with "flags",
// locks work, and renames that must not replace or that swap two names fail.
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

bool has_no_flags() {
  const char* name = std::getenv("SHERD_SHIM_LOCKS");
  return name != nullptr && std::strcmp(name, "flags") == 0;
}

bool is_lock(int command) {
  return !has_no_flags() && (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                             command == F_OFD_SETLKW);
}

using Fcntl = int (*)(int, int, void*);

int pass_on(int fd, int command, void* argument) {
  static const auto real = reinterpret_cast<Fcntl>(dlsym(RTLD_NEXT, "fcntl64"));
  return is_lock(command) ? refuse() : real(fd, command, argument);
}

}  // namespace

extern "C" {

int flock(int fd, int operation) noexcept {
  static const auto real = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "flock"));
  return has_no_flags() ? real(fd, operation) : refuse();
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned int flags) noexcept {
  using Rename = int (*)(int, const char*, int, const char*, unsigned int);
  static const auto real = reinterpret_cast<Rename>(dlsym(RTLD_NEXT, "renameat2"));
  if (has_no_flags() && flags != 0) {
    errno = EINVAL;
    return -1;
  }
  return real(from_folder, from, to_folder, to, flags);
}

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
