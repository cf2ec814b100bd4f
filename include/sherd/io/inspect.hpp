#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/tensor/shape.hpp"
#include "sherd/tensor/tensor.hpp"

/// Reading checkpoints from one process, without MPI ranks: `sherd ckpt`, `sherd generate`.
namespace sherd::io {

/// All step folders of a checkpoint directory, oldest first, then (not committed) the hidden
/// folders of saves in flight or interrupted. Throws IoError when the directory does not exist.
[[nodiscard]] std::vector<CheckpointInfo> list_checkpoints(const std::filesystem::path& directory);

/// Resolves what a user names: a step folder, or a checkpoint directory (its newest committed one).
/// Throws IoError.
[[nodiscard]] std::filesystem::path resolve_checkpoint(const std::filesystem::path& path);

struct TensorInfo {
  std::string key;
  Shape shape;
  DType dtype = DType::f32;
  std::vector<std::string> aliases;
};

/// One committed checkpoint, opened for reading.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& step_folder);
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  [[nodiscard]] std::int64_t step() const;
  [[nodiscard]] int world_size() const;
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const;
  /// Text saved under StateDict::common; throws IoError when absent.
  [[nodiscard]] std::string common(const std::string& key) const;
  /// Elements [first, first+out.numel()) of a tensor into `out` (1-D, the stored dtype).
  void read(const std::string& key, std::int64_t first, const Tensor& out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct VerifyReport {
  bool ok = true;
  std::uint64_t bytes = 0;
  std::vector<std::string> problems;  ///< one line each: file, tensor, what is wrong
};
/// Reads everything and compares sizes and crc32c digests.
[[nodiscard]] VerifyReport verify_checkpoint(const std::filesystem::path& step_folder);

}  // namespace sherd::io
