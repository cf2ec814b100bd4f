// Data that each rank saved for itself, and what becomes of it on another number of ranks.
#include "io/load/blobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/disk/crc32c.hpp"
#include "io/load/match.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

std::vector<std::string> absent_entries(const std::set<std::string>& stored,
                                        const dtensor::StateDict& state,
                                        const LoadOptions& options) {
  std::vector<std::string> absent;
  for (const auto& [key, bytes] : state.per_rank) {
    if (selected(options, key) && stored.count(key) == 0) {
      absent.push_back(fmt::format("'{}'", key));
    }
  }
  return absent;
}

/// Whether entries are taken from a checkpoint of another number of ranks, by those that have some.
bool takes_entries(const Manifest& manifest, const comm::Ranks& ranks, PerRank policy,
                   const std::filesystem::path& folder, LoadReport& report) {
  const int saved = manifest.world_size;
  const std::string counts = fmt::format("saved by {} ranks, loaded by {}", saved, ranks.size());
  switch (policy) {
    case PerRank::refuse:
      throw ConfigError(
          fmt::format("'{}' was {} (per-rank data such as random streams would be lost or dealt "
                      "out anew). Try: "
                      "{} ranks, or LoadOptions::per_rank of keep or by_rank",
                      folder.string(), counts, saved));
    case PerRank::keep:
      report.notes.push_back(
          fmt::format("{}: per-rank data (random streams) is not restored", counts));
      return false;
    case PerRank::by_rank:
      break;
  }
  report.notes.push_back(
      saved < ranks.size()
          ? fmt::format("{}: per-rank data of ranks from {} on is not restored", counts, saved)
          : fmt::format("{}: per-rank data of ranks from {} on is dropped", counts, ranks.size()));
  return true;
}

}  // namespace

std::vector<const BlobRecord*> choose_blobs(const Manifest& manifest, const comm::Ranks& ranks,
                                            const dtensor::StateDict& state,
                                            const LoadOptions& options,
                                            const std::filesystem::path& folder,
                                            LoadReport& report) {
  std::vector<const BlobRecord*> mine;
  std::set<std::string> stored;
  for (const BlobRecord& blob : manifest.blobs) {
    if (!selected(options, blob.key)) {
      continue;
    }
    stored.insert(blob.key);
    if (blob.rank == ranks.rank()) {
      mine.push_back(&blob);
    }
  }
  if (const auto absent = absent_entries(stored, state, options); !absent.empty()) {
    if (options.strict) {
      refuse_model({fmt::format("per-rank entry {} is not in it", first_few(absent))}, folder);
    }
    report.notes.push_back(
        fmt::format("per-rank entries that are not in the checkpoint, left as they were: {}",
                    first_few(absent)));
  }
  const bool same_size = manifest.world_size == ranks.size();
  if (!stored.empty() && !same_size &&
      !takes_entries(manifest, ranks, options.per_rank, folder, report)) {
    mine.clear();
  }
  return mine;
}

std::map<std::string, std::vector<std::byte>> read_blobs(
    const CheckpointFiles& files, const Manifest& manifest,
    const std::vector<const BlobRecord*>& blobs, bool verify) {
  std::map<std::string, std::vector<std::byte>> contents;
  for (const BlobRecord* blob : blobs) {
    std::vector<std::byte>& bytes = contents[blob->key];
    bytes.resize(blob->bytes);
    files[blob->file].read(blob->file_offset, bytes);
    if (verify && blob->bytes > 0 && crc32c(bytes) != blob->crc32c) {
      throw DamagedError(
          fmt::format("per-rank data '{}' of rank {} in '{}' does not match its crc32c", blob->key,
                      blob->rank, manifest.files[blob->file].name),
          manifest.files[blob->file].name);
    }
  }
  return contents;
}

}  // namespace sherd::io
