#pragma once

#include <filesystem>
#include <vector>

#include "io/file_template.hpp"
#include "io/manifest.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::io {

/// Extents of one file that one digest covers, in the order it does.
struct DigestItem {
  std::size_t file = 0;
  std::vector<Extent> extents;
  std::uint32_t expected = 0;
  const TensorRecord* tensor = nullptr;
  const PieceRecord* piece = nullptr;
  std::string what;  ///< "tensor 'a' of rank 1 in 'shards/node-00000.h5'"
};

/// All digests of a checkpoint: those of each file cover every byte of it just once.
[[nodiscard]] std::vector<DigestItem> list_digests(const Manifest& manifest);

/// Reads what the items cover with several threads and compares. Files that cannot be opened or
/// have another size are problems of their own; `sound[file]` becomes false for every file with a
/// problem of its own or in its structure. `bytes` counts what was read.
[[nodiscard]] std::vector<VerifyProblem> verify_bytes(const std::filesystem::path& folder,
                                                      const Manifest& manifest,
                                                      const VerifyOptions& options,
                                                      std::vector<bool>& sound,
                                                      std::uint64_t& bytes);

}  // namespace sherd::io
