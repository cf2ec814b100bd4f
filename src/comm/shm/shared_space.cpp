#include "comm/shm/shared_space.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr const char* kPlace = "/dev/shm";

/// Free bytes, or everything when it cannot be asked (then MPI decides where windows lie).
std::uint64_t free_bytes() {
  if (const char* text = std::getenv("SHERD_TEST_SHM_FREE"); text != nullptr) {
    return std::strtoull(text, nullptr, 10);
  }
  struct statvfs status = {};
  if (statvfs(kPlace, &status) != 0) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace

void require_shared_space(std::size_t bytes) {
  const std::uint64_t available = free_bytes();
  if (available < bytes) {
    throw CommError(
        fmt::format("{} has {} bytes free and {} are needed (ranks of a node share memory "
                    "there). Try: a larger {} (docker run --shm-size=...), or backend mpi",
                    kPlace, available, bytes, kPlace));
  }
}

}  // namespace sherd::comm
