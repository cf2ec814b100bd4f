#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "io/disk/file_ops.hpp"
#include "io/disk/scratch_file.hpp"
#include "io/whole/safetensors/header.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{16} << 20;

void write_tensor(const File& file, const SafetensorsSource& tensor, std::uint64_t offset) {
  const auto per_chunk = static_cast<std::int64_t>(kChunkBytes / size_of(tensor.dtype));
  const std::int64_t count = tensor.shape.numel();
  const Tensor chunk = Tensor::empty({std::min(count, per_chunk)}, tensor.dtype);
  for (std::int64_t first = 0; first < count; first += chunk.numel()) {
    const Tensor part = chunk.slice(0, std::min(chunk.numel(), count - first));
    tensor.fill(first, part);
    file.write_at({part.raw(), part.nbytes()}, offset);
    offset += part.nbytes();
  }
}

}  // namespace

void write_safetensors(const std::filesystem::path& file,
                       const std::vector<SafetensorsSource>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsField> all;
  for (const SafetensorsSource& tensor : tensors) {
    all.push_back({tensor.name, &tensor.shape, tensor.dtype});
  }
  const std::vector<std::size_t> order = safetensors_order(all);
  std::vector<SafetensorsField> fields;
  for (const std::size_t i : order) {
    fields.push_back(all[i]);
  }
  const std::string header = make_safetensors_header(fields, metadata);
  const auto fs = posix_file_system();
  auto temporary = file;
  temporary += ".tmp";
  const ScratchFile guard(temporary);  // renamed away when all is well
  {
    const File out(*fs, temporary, O_WRONLY | O_CREAT | O_TRUNC);
    out.write_at(std::as_bytes(std::span(header.data(), header.size())), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      write_tensor(out, tensors[order[i]], header.size() + fields[i].data_offset);
    }
    out.sync();
  }
  rename_path(*fs, temporary, file);
  const auto folder = file.parent_path();
  sync_directory(*fs, folder.empty() ? "." : folder);
}

}  // namespace sherd::io
