// The folder of shared memory: how large it is, and what of it nobody uses.
#include "cli/shared_memory.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

namespace sherd::cli {
namespace {

namespace fs = std::filesystem;

/// Beginnings of what Open MPI, MPICH, UCX, PSM and sherd call their files.
constexpr std::array<std::string_view, 9> kMakers{"sherd-",     "osc_",     "vader_segment",
                                                  "sm_segment", "mpich_",   "ucx_",
                                                  "psm",        "open_mpi", "shared_mem"};

bool is_of_a_run(const std::string& name) {
  return std::any_of(kMakers.begin(), kMakers.end(),
                     [&](std::string_view maker) { return name.starts_with(maker); });
}

void add_mapped(const fs::path& process, const std::string& folder, std::set<std::string>& used) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    if (const auto at = line.find(folder + "/"); at != std::string::npos) {
      used.insert(line.substr(at));
    }
  }
}

void add_open(const fs::path& process, std::set<std::string>& used) {
  std::error_code hidden;
  for (fs::directory_iterator item(process / "fd", hidden), end; !hidden && item != end;
       item.increment(hidden)) {
    std::error_code gone;
    used.insert(fs::read_symlink(item->path(), gone).string());
  }
}

/// Files that a process, whose files this one may see, has open or mapped.
std::set<std::string> used_files(const std::string& folder) {
  std::set<std::string> used;
  std::error_code error;
  for (fs::directory_iterator item("/proc", error), end; !error && item != end;
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      add_mapped(item->path(), folder, used);
      add_open(item->path(), used);
    }
  }
  return used;
}

}  // namespace

SharedMemoryFolder look_at_shared_memory(const fs::path& folder) {
  SharedMemoryFolder found;
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) {
    return found;
  }
  found.known = true;
  found.total = static_cast<std::uint64_t>(space.f_blocks) * space.f_frsize;
  found.free = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  const std::set<std::string> used = used_files(folder.string());
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    struct stat info {};
    const std::string name = item->path().filename().string();
    if (is_of_a_run(name) && ::lstat(item->path().c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_uid == ::geteuid() && used.count(item->path().string()) == 0) {
      ++found.left_files;
      found.left_bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
      found.example = found.example.empty() || name < found.example ? name : found.example;
    }
  }
  return found;
}

}  // namespace sherd::cli
