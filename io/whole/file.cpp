// A file of a whole state: written by all ranks, each at its offsets.
#include "io/whole/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "io/disk/file_ops.hpp"
#include "io/whole/safetensors/header.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"
#include "sherd/base/regular_file.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

bool is_hdf5(const std::filesystem::path& path) {
  constexpr std::array<char, 8> kSignature{'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, 8> begin{};
  const RegularFile file(path, {"it holds a state", "the path of a file of a whole state"});
  return file.read(0, std::as_writable_bytes(std::span(begin))) == begin.size() &&
         begin == kSignature;
}

WholeFile read_whole_safetensors(const std::filesystem::path& path) {
  WholeFile file;
  const auto entries = read_safetensors_header(path);
  refuse_foreign_types(entries);
  for (const SafetensorsEntry& entry : entries) {
    file.tensors.push_back(
        {entry.name, entry.name, entry.shape, entry.dtype, true, {}, entry.file_offset});
  }
  file.texts = read_safetensors_metadata(path);
  file.texts.erase("format");
  file.bytes = std::filesystem::file_size(path);
  return file;
}

}  // namespace

void create_whole_safetensors(const std::filesystem::path& path, WholeFile& file) {
  std::vector<SafetensorsField> all;
  for (const WholeTensor& tensor : file.tensors) {
    all.push_back({tensor.key, &tensor.shape, tensor.dtype});
  }
  const std::vector<std::size_t> order = safetensors_order(all);
  std::vector<SafetensorsField> fields;
  for (const std::size_t i : order) {
    fields.push_back(all[i]);
  }
  const std::string header = make_safetensors_header(fields, file.texts);
  file.bytes = header.size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    WholeTensor& tensor = file.tensors[order[i]];
    tensor.file_offset = header.size() + fields[i].data_offset;
    file.bytes += tensor.bytes();
  }
  const auto fs = posix_file_system();
  const File out(*fs, path, O_WRONLY | O_CREAT | O_EXCL);
  out.write_at(std::as_bytes(std::span(header)), 0);
}

WholeFile read_whole_file(const std::filesystem::path& path) {
  return is_hdf5(path) ? read_whole_hdf5(path) : read_whole_safetensors(path);
}

std::string to_json(const WholeFile& file) {
  Json json = {{"texts", file.texts}, {"bytes", file.bytes}, {"tensors", Json::array()}};
  for (const WholeTensor& tensor : file.tensors) {
    json["tensors"].push_back({tensor.key, tensor.name, tensor.shape.extents(),
                               std::string(to_string(tensor.dtype)), tensor.requires_grad,
                               tensor.aliases, tensor.file_offset});
  }
  return json.dump();
}

WholeFile parse_whole_file(std::string_view text) {
  const Json json = parse_json<Json>(text, "the description of a file");
  WholeFile file;
  file.texts = json.at("texts").get<std::map<std::string, std::string>>();
  file.bytes = json.at("bytes").get<std::uint64_t>();
  for (const Json& tensor : json.at("tensors")) {
    file.tensors.push_back({tensor[0].get<std::string>(), tensor[1].get<std::string>(),
                            Shape(tensor[2].get<std::vector<std::int64_t>>()),
                            parse_dtype(tensor[3].get<std::string>()), tensor[4].get<bool>(),
                            tensor[5].get<std::vector<std::string>>(),
                            tensor[6].get<std::uint64_t>()});
  }
  return file;
}

}  // namespace sherd::io
