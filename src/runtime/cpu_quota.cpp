#include "runtime/cpu_quota.hpp"

#include <fstream>
#include <optional>
#include <string>

namespace sherd::runtime {
namespace {

namespace fs = std::filesystem;

/// "200000 100000" or "max 100000": time in a period.
std::optional<double> limit_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return std::nullopt;
}

/// The same in two files; -1 is no limit.
std::optional<double> limit_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return std::nullopt;
}

/// From the group upwards. A container may see its own group as the top, whatever its name says:
/// folders that are not there limit nothing.
template <class Limit>
double least_limit(const fs::path& top, const std::string& group, const Limit& limit) {
  double least = 0;
  fs::path at = top / fs::path(group).relative_path();
  for (;; at = at.parent_path()) {
    if (const std::optional<double> found = limit(at); found && (least == 0 || *found < least)) {
      least = *found;
    }
    if (at == top || !at.has_relative_path()) {
      return least;
    }
  }
}

bool controls_processors(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

double cpu_quota(const fs::path& membership, const fs::path& mount) {
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    double found = 0;
    if (controllers.empty()) {
      found = least_limit(mount, group, limit_v2);
    } else if (controls_processors(controllers)) {
      found = least_limit(mount / controllers, group, limit_v1);
    }
    if (found > 0) {
      return found;
    }
  }
  return 0;
}

}  // namespace sherd::runtime
