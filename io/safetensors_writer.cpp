#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/file_ops.hpp"
#include "io/safetensors_header.hpp"
#include "sherd/base/check.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{16} << 20;

/// The order of the format's own writer: wide elements first (so that all are aligned), then by
/// name.
std::vector<const SafetensorsSource*> in_file_order(const std::vector<SafetensorsSource>& tensors) {
  std::vector<const SafetensorsSource*> order;
  for (const SafetensorsSource& tensor : tensors) {
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->dtype) != size_of(b->dtype) ? size_of(a->dtype) > size_of(b->dtype)
                                                  : a->name < b->name;
  });
  return order;
}

/// Length, JSON, and spaces so that data begins on a multiple of 8.
std::string make_header(const std::vector<const SafetensorsSource*>& order) {
  nlohmann::ordered_json json;
  json["__metadata__"]["format"] = "pt";
  std::uint64_t end = 0;
  for (const SafetensorsSource* tensor : order) {
    expect(!json.contains(tensor->name), "two tensors of one name");
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(tensor->shape.numel()) * size_of(tensor->dtype);
    json[tensor->name] = {{"dtype", std::string(safetensors_name(tensor->dtype))},
                          {"shape", tensor->shape.extents()},
                          {"data_offsets", {begin, end}}};
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string header(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    header[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFFU);
  }
  return header + text;
}

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
                       const std::vector<SafetensorsSource>& tensors) {
  const auto order = in_file_order(tensors);
  const std::string header = make_header(order);
  const auto fs = posix_file_system();
  auto temporary = file;
  temporary += ".tmp";
  {
    const File out(*fs, temporary, O_WRONLY | O_CREAT | O_TRUNC);
    out.write_at(std::as_bytes(std::span(header.data(), header.size())), 0);
    std::uint64_t offset = header.size();
    for (const SafetensorsSource* tensor : order) {
      write_tensor(out, *tensor, offset);
      offset += static_cast<std::uint64_t>(tensor->shape.numel()) * size_of(tensor->dtype);
    }
    out.sync();
  }
  rename_path(*fs, temporary, file);
  const auto folder = file.parent_path();
  sync_directory(*fs, folder.empty() ? "." : folder);
}

}  // namespace sherd::io
