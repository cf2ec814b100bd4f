#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/disk/positioned_reader.hpp"
#include "io/format/manifest.hpp"

namespace sherd::io {

/// Which files to look at: every `stride`th from `first` on. Ranks share the checking of a
/// checkpoint's files out among themselves.
struct FileShare {
  std::size_t first = 0;
  std::size_t stride = 1;
};

/// The files of one checkpoint as its manifest lists them, each opened when first asked for.
class CheckpointFiles {
 public:
  /// Throws DamagedError when a file of `checked` is missing or has another size.
  CheckpointFiles(std::filesystem::path folder, const Manifest& manifest, FileShare checked = {});

  /// Thread-safe. Throws DamagedError, IoError.
  [[nodiscard]] const PositionedReader& operator[](std::size_t file) const;

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<PositionedReader>> readers_;
};

/// All common texts, each checked. Throws DamagedError.
[[nodiscard]] std::map<std::string, std::string> read_common(const CheckpointFiles& files,
                                                             const Manifest& manifest);

}  // namespace sherd::io
