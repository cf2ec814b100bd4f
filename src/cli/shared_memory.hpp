#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace sherd::cli {

/// What lies in /dev/shm.
struct SharedMemoryFolder {
  bool known = false;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  /// What killed runs left: files of this user, made by MPI libraries or sherd, that no process of
  /// this user has open or mapped.
  std::size_t left_files = 0;
  std::uint64_t left_bytes = 0;
  std::string example;  ///< the name of one of them
};

/// Local; changes nothing.
[[nodiscard]] SharedMemoryFolder look_at_shared_memory(
    const std::filesystem::path& folder = "/dev/shm");

}  // namespace sherd::cli
