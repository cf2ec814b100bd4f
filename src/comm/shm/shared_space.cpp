#include "comm/shm/shared_space.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t free_in_dev_shm() {
  struct statvfs status = {};
  if (statvfs("/dev/shm", &status) != 0) {
    return kUnknown;
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

/// What the kernel thinks can be had without taking it from programs, and what it can swap out.
std::uint64_t free_in_memory() {
  std::ifstream in("/proc/meminfo");
  std::uint64_t kibibytes = 0;
  bool known = false;
  std::string name;
  std::uint64_t value = 0;
  for (std::string rest; in >> name >> value && std::getline(in, rest);) {
    if (name == "MemAvailable:" || name == "SwapFree:") {
      kibibytes += value;
      known = known || name == "MemAvailable:";
    }
  }
  return known ? kibibytes * 1024 : kUnknown;
}

std::uint64_t free_bytes(SharedPlace place) {
  if (const char* text = std::getenv("SHERD_TEST_SHM_FREE"); text != nullptr) {
    return std::strtoull(text, nullptr, 10);
  }
  return place == SharedPlace::memory ? free_in_memory() : free_in_dev_shm();
}

}  // namespace

void require_shared_space(std::size_t bytes, SharedPlace place) {
  const std::uint64_t available = free_bytes(place);
  if (available >= bytes) {
    return;
  }
  const bool memory = place == SharedPlace::memory;
  throw CommError(fmt::format(
      "{} has {} bytes free and {} are needed (ranks of a node share memory{}). Try: "
      "{}, or backend mpi",
      memory ? "the memory of the node" : "/dev/shm", available, bytes, memory ? "" : " there",
      memory ? "more nodes" : "a larger /dev/shm (docker run --shm-size=...)"));
}

}  // namespace sherd::comm
