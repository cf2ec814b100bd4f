// sherd ckpt consolidate: a checkpoint as one file.
#include "sherd/io/consolidate.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "io/commit/folder.hpp"
#include "io/disk/file_ops.hpp"
#include "io/disk/scratch_file.hpp"
#include "io/whole/file.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{16} << 20;

WholeFile whole_file_of(const CheckpointReader& checkpoint) {
  WholeFile whole;
  for (const TensorInfo& info : checkpoint.tensors()) {
    whole.tensors.push_back(
        {info.key, info.name, info.shape, info.dtype, info.requires_grad, info.aliases, 0});
  }
  return whole;
}

/// Something else of this name may be the only copy of whatever it is.
void require_replaceable(const std::filesystem::path& file) {
  if (!is_there(file)) {
    return;
  }
  try {
    static_cast<void>(read_whole_hdf5(file));
  } catch (const Error&) {
    throw ConfigError(fmt::format(
        "'{}' is there and is no file that consolidate wrote (it would be lost). Try: another name",
        file.string()));
  }
}

}  // namespace

void refuse_inside_checkpoint(const std::filesystem::path& output) {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(output, unknown);
  for (std::filesystem::path at = whole; at.has_relative_path(); at = at.parent_path()) {
    for (const char* mark : {"COMMITTED.json", "plan.json"}) {
      if (std::filesystem::exists(at / mark, unknown)) {
        throw ConfigError(
            fmt::format("'{}' lies in the checkpoint '{}' (its files are its own). "
                        "Try: a place outside",
                        output.string(), at.string()));
      }
    }
  }
}

void consolidate_checkpoint(const CheckpointReader& checkpoint, const std::filesystem::path& file,
                            const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  refuse_inside_checkpoint(file);
  require_replaceable(file);
  std::filesystem::path temporary = file;
  temporary += ".tmp-" + make_uuid();
  const ScratchFile guard(temporary);  // renamed away when all is well
  WholeFile whole = whole_file_of(checkpoint);
  whole.unverified = !checkpoint.verifies();
  create_whole_hdf5(temporary, whole, checkpoint.folder() / "index.h5");
  std::uint64_t total = 0;
  for (const WholeTensor& tensor : whole.tensors) {
    total += tensor.bytes();
  }
  const auto fs = posix_file_system();
  {
    const File out(*fs, temporary, O_WRONLY);
    std::uint64_t done = 0;
    for (const WholeTensor& tensor : whole.tensors) {
      const auto width = static_cast<std::int64_t>(size_of(tensor.dtype));
      const std::int64_t count = tensor.shape.numel();
      const auto step = static_cast<std::int64_t>(kChunkBytes) / width;
      const Tensor chunk = Tensor::empty({std::min(count, step)}, tensor.dtype);
      for (std::int64_t first = 0; first < count; first += step) {
        const Tensor part = chunk.slice(0, std::min(step, count - first));
        checkpoint.read(tensor.key, first, part);
        out.write_at({part.raw(), part.nbytes()},
                     tensor.file_offset + static_cast<std::uint64_t>(first * width));
        done += part.nbytes();
        if (progress) {
          progress(done, total);
        }
      }
    }
    out.sync();
  }
  rename_path(*fs, temporary, file);
  sync_directory(*fs, file.parent_path());
}

}  // namespace sherd::io
