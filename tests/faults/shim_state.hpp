#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "faults/operation_log.hpp"

/// What the interposed functions of fault_shim.cpp share: which paths matter, the fault, the log.
namespace sherd::faults {

// The C library's own function behind an interposed one.
#define SHERD_REAL(name)                                  \
  reinterpret_cast<decltype(&::name)>([] {                \
    static void* const found = ::dlsym(RTLD_NEXT, #name); \
    return found;                                         \
  }())

enum class What { none, eio, enospc, shorter, kill };

/// What the fault says about the call being made; counts it. Does not return from a kill.
[[nodiscard]] What judge(const char* call);
/// True, and errno set, when the call is to fail.
[[nodiscard]] bool refused(const char* call);

/// Whether a path (as openat() takes it) or an open file lies below the root, and where.
[[nodiscard]] bool ours(int folder, const char* path, std::string& relative);
[[nodiscard]] bool ours(int fd);

/// 0 when there is no such file.
[[nodiscard]] std::uint64_t inode_of(int fd);
[[nodiscard]] std::uint64_t inode_of(int folder, const char* path);

/// Holds the log, over threads and processes, while an operation and its record are made. Keeps
/// errno.
class Recording {
 public:
  Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  /// `data` has header.data_bytes bytes. Nothing happens unless a log is wanted.
  void write(OperationHeader header, std::string_view path, std::string_view other = {},
             const void* data = nullptr) const;
  [[nodiscard]] bool on() const { return locked_; }

 private:
  bool locked_ = false;
};

}  // namespace sherd::faults
