#include "io/commit/retention.hpp"

#include <algorithm>
#include <system_error>

#include "io/commit/folder.hpp"

namespace sherd::io {
namespace {

bool is_kept_for_good(const CheckpointInfo& info, const Retention& retention) {
  std::error_code unknown;
  const bool pinned = std::filesystem::exists(info.path / "PINNED", unknown);
  return pinned || unknown || (retention.keep_every > 0 && info.step % retention.keep_every == 0);
}

}  // namespace

void apply_retention(FileSystem& fs, const std::filesystem::path& directory,
                     const Retention& retention, std::int64_t just_saved) {
  if (retention.keep_last == 0) {
    return;
  }
  std::vector<CheckpointInfo> committed = scan_folders(directory);
  std::erase_if(committed, [](const CheckpointInfo& info) { return !info.committed; });
  const auto saved = std::find_if(committed.begin(), committed.end(),
                                  [&](const auto& info) { return info.step == just_saved; });
  if (saved == committed.end()) {
    return;
  }
  committed.erase(saved);
  const int others = std::max(retention.keep_last, 2) - 1;
  const auto surplus = std::max<std::ptrdiff_t>(std::ssize(committed) - others, 0);
  for (std::ptrdiff_t i = 0; i < surplus; ++i) {
    const CheckpointInfo& info = committed[static_cast<std::size_t>(i)];
    if (!is_kept_for_good(info, retention)) {
      remove_folder(fs, info.path, "during_retention");
    }
  }
}

}  // namespace sherd::io
