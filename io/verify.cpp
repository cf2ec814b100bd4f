#include <fmt/format.h>

#include <algorithm>

#include "io/crc32c.hpp"
#include "io/file_template.hpp"
#include "io/manifest.hpp"
#include "io/part_digests.hpp"
#include "io/positioned_reader.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::io {
namespace {

/// Checks one file of a checkpoint: its size, its datasets, and all bytes between them.
class FileCheck {
 public:
  FileCheck(const std::filesystem::path& folder, const Manifest& manifest, std::size_t file,
            VerifyReport& report)
      : manifest_(manifest),
        record_(manifest.files[file]),
        index_(file),
        reader_(folder / record_.name),
        report_(report) {}

  void run() {
    const std::uint64_t bytes = reader_.bytes();
    if (bytes != record_.bytes) {
      problem(fmt::format("'{}' has {} bytes, should have {}", record_.name, bytes, record_.bytes));
    }
    for (const TensorRecord& tensor : manifest_.tensors) {
      check_tensor(tensor);
    }
    for (const BlobRecord& blob : manifest_.blobs) {
      if (blob.file == index_ && blob.bytes > 0) {
        check({blob.file_offset, blob.bytes}, blob.crc32c,
              fmt::format("per-rank data '{}' of rank {} in '{}'", blob.key, blob.rank,
                          record_.name));
      }
    }
    check_structure();
  }

 private:
  void check_tensor(const TensorRecord& tensor) {
    for (const PieceRecord& piece : tensor.pieces) {
      if (piece.file == index_) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype);
        check({piece.file_offset, bytes}, piece.crc32c,
              fmt::format("tensor '{}' of rank {} in '{}'", tensor.key, piece.rank, record_.name));
      }
    }
  }

  void check(Extent extent, std::uint32_t expected, const std::string& what) {
    extents_.push_back(extent);
    std::uint32_t crc = 0;
    if (digest(extent, crc, what) && crc != expected) {
      problem(what + " does not match its crc32c");
    }
  }

  void check_structure() {
    std::sort(extents_.begin(), extents_.end(),
              [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    std::uint32_t crc = 0;
    bool readable = true;
    for (const Extent& gap : gaps_between(extents_, record_.bytes)) {
      readable = readable && digest(gap, crc, fmt::format("the structure of '{}'", record_.name));
    }
    if (readable && crc != record_.structure_crc32c) {
      problem(fmt::format("the HDF5 structure of '{}' does not match its crc32c", record_.name));
    }
  }

  /// Continues `crc` over an extent, a few MiB at a time.
  bool digest(const Extent& extent, std::uint32_t& crc, const std::string& what) {
    constexpr std::uint64_t kStep = std::uint64_t{4} << 20;
    try {
      for (std::uint64_t at = extent.offset; at < extent.end(); at += kStep) {
        buffer_.resize(std::min(kStep, extent.end() - at));
        reader_.read(at, buffer_);
        crc = crc32c(buffer_, crc);
      }
    } catch (const IoError& error) {
      problem(what + ": " + error.what());
      return false;
    }
    report_.bytes += extent.bytes;
    return true;
  }

  void problem(std::string text) {
    report_.ok = false;
    report_.problems.push_back(std::move(text));
  }

  const Manifest& manifest_;
  const FileRecord& record_;
  std::size_t index_;
  PositionedReader reader_;
  VerifyReport& report_;
  std::vector<Extent> extents_;
  std::vector<std::byte> buffer_;
};

}  // namespace

VerifyReport verify_checkpoint(const std::filesystem::path& step_folder) {
  VerifyReport report;
  const auto note = [&](const IoError& error) {
    report.ok = false;
    report.problems.emplace_back(error.what());
  };
  try {
    const Manifest manifest = read_manifest(step_folder / "COMMITTED.json");
    for (std::size_t file = 0; file < manifest.files.size(); ++file) {
      try {
        FileCheck(step_folder, manifest, file, report).run();
      } catch (const IoError& error) {
        note(error);
      }
    }
  } catch (const IoError& error) {
    note(error);
  }
  return report;
}

}  // namespace sherd::io
