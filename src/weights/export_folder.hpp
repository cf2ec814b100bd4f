#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace sherd::weights {

/// Where an export goes. Files are written beside the target and moved in at the end, so that a
/// failed export leaves nothing and the target as it was. sherd_export.json in the target lists the
/// files that an export wrote: those alone are replaced or removed by the next one. Local.
class ExportFolder {
 public:
  /// `source` is the checkpoint's step folder, `base` the folder that the model began from (empty:
  /// none). Throws ConfigError when the target is one of them or lies in a checkpoint, or is no
  /// folder.
  ExportFolder(std::filesystem::path target, const std::filesystem::path& source,
               const std::filesystem::path& base);
  ~ExportFolder();  ///< removes what was not published
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;

  /// Write here.
  [[nodiscard]] const std::filesystem::path& work() const noexcept { return work_; }

  /// Moves everything into the target. Throws ConfigError, with the target as it was, when a file
  /// of a name to be written is there that no export wrote.
  void publish();

 private:
  using Names = std::set<std::string>;
  [[nodiscard]] Names files_of_work() const;
  [[nodiscard]] Names earlier_files() const;
  void refuse_foreign(const Names& files, const Names& own) const;
  void move_in(const Names& files, const Names& own) const;
  void write_list(const Names& files) const;

  std::filesystem::path target_;
  std::filesystem::path work_;
};

}  // namespace sherd::weights
