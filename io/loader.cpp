#include "io/loader.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "io/checkpoint_files.hpp"
#include "io/crc32c.hpp"
#include "io/file_ops.hpp"
#include "io/load_match.hpp"
#include "io/part_digests.hpp"
#include "io/staging.hpp"
#include "sherd/base/check.hpp"

namespace sherd::io {
namespace {

using dtensor::FlatRange;

/// Reads this rank's parts into memory of its own; the state is filled once all ranks are content.
class StateReader {
 public:
  StateReader(const Ranks& ranks, const CheckpointFiles& files, const Manifest& manifest,
              const StateLayout& layout, const std::vector<const TensorRecord*>& records)
      : rank_(ranks.rank()),
        files_(files),
        manifest_(manifest),
        layout_(layout),
        records_(records) {
    std::size_t bytes = 0;
    for (const TensorLayout& tensor : layout.tensors) {
      starts_.push_back(bytes);
      bytes += bytes_of(tensor, held(tensor).numel);
    }
    memory_.reserve(bytes);
  }

  /// Fills digests of this rank's parts. Throws DamagedError, IoError.
  void read_parts(const std::vector<ReadPart>& parts, std::vector<std::int64_t>& digests) {
    for (const ReadPart& part : parts) {
      if (part.rank == rank_) {
        digests[part.digest] = crc32c(read(part.tensor, *part.piece, part.range));
      }
    }
  }

  void read_replicated() {
    for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
      if (layout_.tensors[i].facts.placement != dtensor::Placement::replicated) {
        continue;
      }
      for (const PieceRecord& piece : records_[i]->pieces) {
        if (crc32c(read(i, piece, {piece.first, piece.numel})) != piece.crc32c) {
          throw DamagedError(digest_problem(*records_[i], piece, manifest_));
        }
      }
    }
  }

  void read_blobs() {
    for (const BlobRecord& blob : manifest_.blobs) {
      if (blob.rank != rank_) {
        continue;
      }
      std::vector<std::byte>& bytes = blobs_[blob.key];
      bytes.resize(blob.bytes);
      files_[blob.file].read(blob.file_offset, bytes);
      if (blob.bytes > 0 && crc32c(bytes) != blob.crc32c) {
        throw DamagedError(
            fmt::format("per-rank data '{}' of rank {} in '{}' does not match its "
                        "crc32c",
                        blob.key, blob.rank, manifest_.files[blob.file].name));
      }
    }
  }

  void deliver(dtensor::StateDict& state) {
    std::size_t i = 0;
    for (auto& [key, tensor] : state.tensors) {
      const std::size_t bytes = bytes_of(layout_.tensors[i], held(layout_.tensors[i]).numel);
      if (bytes > 0) {
        std::memcpy(tensor.local.raw(), memory_.data() + starts_[i], bytes);
      }
      ++i;
    }
    for (auto& [key, bytes] : blobs_) {
      state.per_rank[key] = std::move(bytes);
    }
  }

 private:
  FlatRange held(const TensorLayout& tensor) const {
    return tensor.held[static_cast<std::size_t>(rank_)];
  }
  static std::size_t bytes_of(const TensorLayout& tensor, std::int64_t numel) {
    return static_cast<std::size_t>(numel) * size_of(tensor.facts.dtype);
  }

  std::span<const std::byte> read(std::size_t i, const PieceRecord& piece, FlatRange range) {
    const TensorLayout& tensor = layout_.tensors[i];
    const std::size_t at = starts_[i] + bytes_of(tensor, range.first - held(tensor).first);
    const std::span<std::byte> to(memory_.data() + at, bytes_of(tensor, range.numel));
    files_[piece.file].read(piece.file_offset + bytes_of(tensor, range.first - piece.first), to);
    return to;
  }

  int rank_;
  const CheckpointFiles& files_;
  const Manifest& manifest_;
  const StateLayout& layout_;
  const std::vector<const TensorRecord*>& records_;
  std::vector<std::size_t> starts_;
  StagingBuffer memory_;
  std::map<std::string, std::vector<std::byte>> blobs_;
};

/// The first rank's damage, or a hard error on all ranks.
std::optional<std::string> run_until_damaged(const Ranks& ranks,
                                             const std::function<void()>& body) {
  std::optional<std::string> damage;
  all_or_none(ranks, [&] {
    try {
      body();
    } catch (const DamagedError& error) {
      damage = error.what();
    }
  });
  const auto first = first_text(ranks, damage);
  return first ? std::optional(first->text) : std::nullopt;
}

/// One checkpoint as one load sees it.
class Load {
 public:
  Load(const Ranks& ranks, const std::filesystem::path& folder, dtensor::StateDict& state)
      : ranks_(ranks), folder_(folder), state_(state) {}

  std::optional<std::string> run(std::vector<std::string>& notes) {
    if (auto damage = run_until_damaged(ranks_, [&] { open(); })) {
      return damage;
    }
    expect(same_on_all(ranks_, manifest_.uuid + shared_signature(state_)),
           "ranks load different checkpoints or states of different structure");
    all_or_none(ranks_, [&] {
      check_state(state_);
      records_ = match_tensors(manifest_, state_, folder_);
    });
    const StateLayout layout = gather_layout(*ranks_.world, *ranks_.mesh, state_);
    return fill(layout, notes);
  }

 private:
  void open() {
    manifest_ = read_manifest(folder_ / "COMMITTED.json");
    files_ = std::make_unique<CheckpointFiles>(folder_, manifest_);
    common_ = read_common(*files_, manifest_);
  }

  std::optional<std::string> fill(const StateLayout& layout, std::vector<std::string>& notes) {
    const bool same_size = manifest_.world_size == ranks_.size();
    const std::vector<ReadPart> parts = list_parts(layout, records_);
    std::vector<std::int64_t> digests(parts.size(), 0);
    std::unique_ptr<StateReader> reader;
    const auto damage = run_until_damaged(ranks_, [&] {
      reader = std::make_unique<StateReader>(ranks_, *files_, manifest_, layout, records_);
      reader->read_parts(parts, digests);
      reader->read_replicated();
      if (same_size) {
        reader->read_blobs();
      }
    });
    if (damage) {
      return damage;
    }
    max_over_ranks(ranks_, digests);
    if (auto problem = compare_digests(parts, records_, digests, manifest_)) {
      return problem;
    }
    reader->deliver(state_);
    for (auto& [key, text] : common_) {
      state_.common[key] = text;
    }
    if (!same_size && !manifest_.blobs.empty()) {
      notes.push_back(
          fmt::format("saved by {} ranks, loaded by {}: per-rank data (random streams) "
                      "is not restored",
                      manifest_.world_size, ranks_.size()));
    }
    return std::nullopt;
  }

  const Ranks& ranks_;
  const std::filesystem::path& folder_;
  dtensor::StateDict& state_;
  Manifest manifest_;
  std::unique_ptr<CheckpointFiles> files_;
  std::map<std::string, std::string> common_;
  std::vector<const TensorRecord*> records_;
};

}  // namespace

std::optional<std::string> try_load(const Ranks& ranks, const std::filesystem::path& folder,
                                    dtensor::StateDict& state, std::vector<std::string>& notes) {
  return Load(ranks, folder, state).run(notes);
}

}  // namespace sherd::io
