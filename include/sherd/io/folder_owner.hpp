#pragma once

#include <filesystem>
#include <memory>

namespace sherd::io {

class Lease;

/// Makes this process the only writer of a folder, among all programs that see it, until it is
/// destroyed; a mark in the folder (.writer.json) says who. A Checkpointer does so for its
/// directory; use it for other folders that two runs must not mix, such as logs. Within a process a
/// folder may be owned several times. Local.
class FolderOwner {
 public:
  /// The folder must exist. A mark whose process provably ended is taken over at once; one that
  /// cannot be judged (another host or container) is watched for up to 35 s, which blocks, and
  /// taken over when nobody renews it. Throws ConfigError that names the holder of a live one,
  /// IoError.
  explicit FolderOwner(const std::filesystem::path& folder);
  ~FolderOwner();
  FolderOwner(FolderOwner&& other) noexcept;
  FolderOwner& operator=(FolderOwner&& other) noexcept;

 private:
  std::shared_ptr<Lease> lease_;
};

}  // namespace sherd::io
