#include "io/commit/retention.hpp"

#include <algorithm>
#include <system_error>

#include "io/commit/committed.hpp"
#include "io/commit/folder.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

bool is_kept_for_good(const Committed& folder, const Retention& retention) {
  std::error_code unknown;
  const bool pinned = fs_std::exists(folder.path / "PINNED", unknown);
  return pinned || unknown || (retention.keep_every > 0 && folder.step % retention.keep_every == 0);
}

/// Older checkpoints that the one just saved came from, by step.
std::vector<Committed> line_of(const fs_std::path& directory, const Committed& head) {
  std::vector<Committed> line = read_committed(directory);
  std::erase_if(line, [&](const Committed& folder) {
    return !folder.damage.empty() || folder.is_copy() || folder.uuid == head.uuid ||
           !is_on_line(head.lineage, head.stored_step, folder.lineage.run, folder.stored_step);
  });
  return line;
}

}  // namespace

void apply_retention(FileSystem& fs, const fs_std::path& directory, const Retention& retention,
                     const Manifest& just_saved) {
  if (retention.keep_last == 0) {
    return;
  }
  const fs_std::path saved = directory / step_name(just_saved.step);
  if (read_manifest(saved / "COMMITTED.json").uuid != just_saved.uuid) {
    return;
  }
  const Committed head{just_saved.step, saved,           "",
                       just_saved.step, just_saved.uuid, just_saved.lineage};
  const std::vector<Committed> older = line_of(directory, head);
  const int others = std::max(retention.keep_last, 2) - 1;
  const auto surplus = std::max<std::ptrdiff_t>(std::ssize(older) - others, 0);
  for (std::ptrdiff_t i = 0; i < surplus; ++i) {
    const Committed& folder = older[static_cast<std::size_t>(i)];
    if (!is_kept_for_good(folder, retention)) {
      remove_folder(fs, folder.path, "during_retention");
    }
  }
}

}  // namespace sherd::io
