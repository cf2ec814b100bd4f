#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/dtensor/shard_spec.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/tensor/shape.hpp"
#include "sherd/tensor/tensor.hpp"

/// Reading checkpoints from one process, without MPI ranks: `sherd ckpt`, `sherd generate`.
namespace sherd::io {

/// All step folders of a checkpoint directory, oldest first, then (not committed) the hidden
/// folders of saves in flight or interrupted. Throws IoError when the directory does not exist.
[[nodiscard]] std::vector<CheckpointInfo> list_checkpoints(const std::filesystem::path& directory);

/// What a folder of a checkpoint directory is.
enum class FolderState : std::uint8_t {
  committed,
  incomplete,  ///< named like a step, but without COMMITTED.json
  damaged,     ///< COMMITTED.json cannot be used
  renamed,     ///< holds another step than its name says: a copy, or renamed
  given_up,    ///< a later run went on from an earlier step
  in_flight,   ///< being saved, or interrupted
  set_aside    ///< found damaged by a load
};
[[nodiscard]] std::string_view to_string(FolderState state) noexcept;

struct FolderInfo {
  std::int64_t step = 0;
  std::filesystem::path path;
  FolderState state = FolderState::committed;
  bool pinned = false;  ///< holds a file PINNED: never deleted to make room
  std::uint64_t bytes = 0;
  std::int64_t stored_step = 0;  ///< by the manifest; `step` where there is none
  int ranks = 0;                 ///< that wrote it; 0 when it does not say
  std::int64_t modified = 0;     ///< when committed (or last changed), in seconds since 1970
};

/// Everything in a checkpoint directory that is or was to be a checkpoint: step folders by step,
/// then what is in flight or set aside. A folder that vanishes meanwhile is left out. Throws
/// IoError when the directory cannot be read.
[[nodiscard]] std::vector<FolderInfo> survey_checkpoints(const std::filesystem::path& directory);

/// Resolves what a user names: a step folder, or a checkpoint directory (its newest committed one).
/// Throws IoError.
[[nodiscard]] std::filesystem::path resolve_checkpoint(const std::filesystem::path& path);

/// Elements of a tensor as one rank saved them: a flat range, or a block.
struct PieceInfo {
  int rank = 0;
  std::size_t file = 0;  ///< index into CheckpointReader::files()
  std::uint64_t file_offset = 0;
  std::int64_t first = 0;
  std::int64_t numel = 0;
  std::optional<dtensor::Block> block = std::nullopt;
};

struct TensorInfo {
  std::string key;
  Shape shape;
  DType dtype = DType::f32;
  std::vector<std::string> aliases;
  std::string name = {};  ///< without the part of the key that says whose tensor it is
  dtensor::Placement placement = dtensor::Placement::sharded;  ///< sharded or replicated
  bool requires_grad = true;
  std::vector<PieceInfo> pieces = {};
};

struct FileInfo {
  std::string name;  ///< relative to the step folder
  std::uint64_t bytes = 0;
};

struct PerRankInfo {
  std::string key;
  int rank = 0;
  std::uint64_t bytes = 0;
};

/// When a rank's part of the save had come how far, in seconds after save_async() began.
struct RankTimes {
  int rank = 0;
  double stall = 0;  ///< how long save_async() held the caller
  double staged = 0;
  double written = 0;
  double durable = 0;
  double copying = 0;  ///< spent copying and taking digests
  std::uint64_t bytes = 0;
};

struct ReaderOptions {
  /// Compare what is read with its digests, so that nothing damaged is passed on.
  bool verify = true;
};

/// One committed checkpoint, opened for reading.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& step_folder,
                            const ReaderOptions& options = {});
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const;
  [[nodiscard]] bool verifies() const;
  [[nodiscard]] std::int64_t step() const;
  [[nodiscard]] int world_size() const;
  [[nodiscard]] const std::string& uuid() const;
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const;
  /// By key or alias; null when there is none.
  [[nodiscard]] const TensorInfo* find(std::string_view key) const;
  [[nodiscard]] std::vector<FileInfo> files() const;
  [[nodiscard]] std::vector<PerRankInfo> per_rank() const;
  [[nodiscard]] std::vector<RankTimes> timing() const;
  /// Names of the texts.
  [[nodiscard]] std::vector<std::string> common_keys() const;
  /// Text saved under StateDict::common; throws IoError when absent.
  [[nodiscard]] std::string common(const std::string& key) const;
  /// Elements [first, first+out.numel()) of a tensor into `out` (1-D, the stored dtype). Throws
  /// IoError when they do not match their digests (the first read of a stored range goes through
  /// all of it), or when the checkpoint was removed meanwhile: a running save keeps the last few.
  void read(const std::string& key, std::int64_t first, const Tensor& out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One thing wrong with a checkpoint.
struct VerifyProblem {
  std::string file;              ///< relative to the step folder
  std::string tensor = {};       ///< its key; empty when it is not about one
  int rank = -1;                 ///< whose part; -1 when it is not about one
  std::uint64_t first_byte = 0;  ///< of the file; what is wrong lies in [first_byte, end_byte)
  std::uint64_t end_byte = 0;    ///< 0: the place is not known
  bool unreadable = false;       ///< the system refused to read: nothing is said about the bytes
  std::string text = {};         ///< one line that says it all
};

struct VerifyReport {
  bool ok = true;
  /// The folder went while it was read: a running save keeps the last few. Then there are no
  /// problems, and nothing is said about the rest.
  bool removed = false;
  /// All problems are refusals of the system (a disk error, no permission): it may be good.
  bool unreadable = false;
  std::uint64_t bytes = 0;             ///< read and compared
  std::vector<std::string> problems;   ///< one line each: file, tensor, what is wrong
  std::vector<VerifyProblem> details;  ///< the same, in parts
};

struct VerifyOptions {
  int threads = 0;  ///< that read; 0: as many as there are cores, at most 8
  /// Called now and then, by one thread at a time.
  std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)> progress = {};
};

/// Reads every byte and compares sizes and crc32c digests; then looks at index.h5 with HDF5:
/// whether each tensor has its shape and type there and is made of just the stored pieces (else it
/// would show NaN). Throws nothing for a damaged checkpoint.
[[nodiscard]] VerifyReport verify_checkpoint(const std::filesystem::path& step_folder,
                                             const VerifyOptions& options = {});

}  // namespace sherd::io
