#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/manifest.hpp"
#include "io/positioned_reader.hpp"

namespace sherd::io {

/// The files of one checkpoint, opened as its manifest lists them.
class CheckpointFiles {
 public:
  /// Throws DamagedError when a file is missing or has another size.
  CheckpointFiles(const std::filesystem::path& folder, const Manifest& manifest);

  [[nodiscard]] const PositionedReader& operator[](std::size_t file) const {
    return readers_.at(file);
  }

 private:
  std::vector<PositionedReader> readers_;
};

/// All common texts; checks index.h5 as a whole. Throws DamagedError.
[[nodiscard]] std::map<std::string, std::string> read_common(const CheckpointFiles& files,
                                                             const Manifest& manifest);

}  // namespace sherd::io
