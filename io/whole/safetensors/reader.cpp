#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "io/whole/safetensors/header.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"
#include "sherd/base/regular_file.hpp"

namespace sherd::io {
namespace {

constexpr std::int64_t kChunkElements = std::int64_t{1} << 20;
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

constexpr std::uint64_t kLargestIndex = std::uint64_t{64} << 20;
constexpr FilePurpose kWeightsPurpose{"it holds the model's weights",
                                      "a folder of a downloaded model"};

void read_exactly(const RegularFile& file, std::span<std::byte> out, std::uint64_t offset) {
  if (const std::size_t got = file.read(offset, out); got < out.size()) {
    throw IoError(fmt::format("{}: ends at byte {}, {} bytes early (it has become shorter)",
                              file.path().string(), offset + got, out.size() - got));
  }
}

/// Tensor name -> file name, from model.safetensors.index.json.
std::map<std::string, std::string> read_index(const std::filesystem::path& file) {
  const std::string text = read_small_file(file, kLargestIndex, kWeightsPurpose);
  std::map<std::string, std::string> result;
  try {
    const auto json = parse_json<nlohmann::json>(text, file.string());
    result = json.at("weight_map").get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(
        fmt::format("{}: does not hold a weight_map of names ({}). Try: download or copy it again",
                    file.string(), error.what()));
  }
  for (const auto& [tensor, name] : result) {
    if (name.empty() || std::filesystem::path(name).filename() != name) {
      throw ConfigError(
          fmt::format("{}: tensor '{}': '{}' is not the name of a file beside it. "
                      "Try: all files in one folder, and their bare names",
                      file.string(), tensor, name));
    }
  }
  return result;
}

using Entries = std::map<std::string, SafetensorsEntry>;

void add_file(const std::filesystem::path& file, Entries& entries) {
  for (SafetensorsEntry& entry : read_safetensors_header(file)) {
    std::string name = entry.name;
    const auto [found, fresh] = entries.try_emplace(std::move(name), std::move(entry));
    if (!fresh) {
      throw ConfigError(fmt::format(
          "{}: tensor '{}': also in {} (only one of them could count). Try: the files of one model",
          file.string(), found->first, found->second.file.string()));
    }
  }
}

void check_against_index(const std::filesystem::path& index,
                         const std::map<std::string, std::string>& map, const Entries& entries) {
  for (const auto& [tensor, name] : map) {
    const auto found = entries.find(tensor);
    if (found == entries.end() || found->second.file.filename() != name) {
      throw ConfigError(fmt::format(
          "{}: tensor '{}' is not in {} as it says. Try: download or copy the whole folder again",
          index.string(), tensor, name));
    }
  }
  for (const auto& [tensor, entry] : entries) {
    if (map.count(tensor) == 0) {
      throw ConfigError(fmt::format(
          "{}: tensor '{}' of {} is missing in its weight_map. Try: download or copy the whole "
          "folder again",
          index.string(), tensor, entry.file.string()));
    }
  }
}

Entries read_folder(const std::filesystem::path& folder) {
  Entries entries;
  if (std::filesystem::exists(folder / kSingle)) {
    add_file(folder / kSingle, entries);
    return entries;
  }
  const auto index = folder / kIndex;
  validate(std::filesystem::exists(index),
           fmt::format("{}: holds neither {} nor {} (the model's weights). Try: the folder of a "
                       "downloaded or exported model",
                       folder.string(), kSingle, kIndex));
  const auto map = read_index(index);
  std::set<std::string> files;
  for (const auto& item : map) {
    files.insert(item.second);
  }
  for (const std::string& name : files) {
    add_file(folder / name, entries);
  }
  check_against_index(index, map, entries);
  return entries;
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::filesystem::path& file_or_folder) {
  if (std::filesystem::is_directory(file_or_folder)) {
    entries_ = read_folder(file_or_folder);
  } else {
    add_file(file_or_folder, entries_);
  }
}

void SafetensorsReader::read(const std::string& name, std::int64_t first, const Tensor& out) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw ArgumentError("no tensor named '" + name + "'");
  }
  const SafetensorsEntry& entry = found->second;
  validate(entry.foreign_type.empty(),
           fmt::format("{}: tensor '{}' has elements of type {} (this program computes with F64, "
                       "F32, F16 and BF16). Try: the same weights in one of them",
                       entry.file.string(), name, entry.foreign_type));
  const std::int64_t count = out.numel();
  expect(first >= 0 && count <= entry.shape.numel() - first, "range beyond the tensor's end");
  if (count == 0) {
    return;
  }
  const RegularFile file(entry.file, kWeightsPurpose);
  const std::size_t width = size_of(entry.dtype);
  const auto offset_of = [&](std::int64_t element) {
    return entry.file_offset + static_cast<std::uint64_t>(first + element) * width;
  };
  if (entry.dtype == out.dtype()) {
    read_exactly(file, {out.raw(), out.nbytes()}, offset_of(0));
    return;
  }
  const Tensor chunk = Tensor::empty({std::min(count, kChunkElements)}, entry.dtype);
  for (std::int64_t done = 0; done < count; done += chunk.numel()) {
    const Tensor part = chunk.slice(0, std::min(chunk.numel(), count - done));
    read_exactly(file, {part.raw(), part.nbytes()}, offset_of(done));
    convert(part, out.slice(done, part.numel()));
  }
}

}  // namespace sherd::io
