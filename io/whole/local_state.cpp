// Each rank's part in a safetensors file of its own.
#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "io/commit/folder.hpp"
#include "io/disk/file_ops.hpp"
#include "io/disk/positioned_reader.hpp"
#include "io/layout/host_state.hpp"
#include "io/layout/state_layout.hpp"
#include "io/layout/storable.hpp"
#include "io/whole/safetensors/header.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/json.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/io/full_state.hpp"

/// A rank's own part as a safetensors file: its elements under the tensors' keys, per_rank entries
/// as bytes under "meta.<key>" (no tensor's key begins so), and under __metadata__ what they are
/// parts of.
namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kPartsKey = "sherd_local_state";
constexpr const char* kBlobPrefix = "meta.";

fs_std::path file_of(const fs_std::path& folder, int rank) {
  return folder / fmt::format("rank-{:05}.safetensors", rank);
}

/// What of which global tensor this rank holds.
Json part_of(const dtensor::ShardSpec& spec) {
  Json json = {{"global_shape", spec.global_shape.extents()},
               {"dtype", std::string(to_string(spec.dtype))},
               {"offset", spec.numel == 0 ? 0 : spec.offset},
               {"numel", spec.numel}};
  if (spec.block) {
    json["start"] = spec.block->start;
    json["count"] = spec.block->count;
  }
  return json;
}

Json parts_of(const comm::Ranks& ranks, const dtensor::StateDict& state) {
  Json tensors = Json::object();
  for (const auto& [key, tensor] : state.tensors) {
    tensors[key] = part_of(tensor.spec);
  }
  return {{"rank", ranks.rank()}, {"world_size", ranks.size()}, {"tensors", std::move(tensors)}};
}

/// One stretch of the file: its name there and its bytes here.
struct Source {
  std::string name;
  Shape shape;
  DType dtype = DType::u8;
  std::span<const std::byte> bytes;
};

std::vector<Source> sources_of(const dtensor::StateDict& state) {
  std::vector<Source> sources;
  for (const auto& [key, tensor] : state.tensors) {
    const dtensor::ShardSpec& spec = tensor.spec;
    sources.push_back(
        {key, spec.block ? Shape(spec.block->count) : Shape{spec.numel}, spec.dtype, {}});
    if (spec.numel > 0) {
      sources.back().bytes = {tensor.local.raw(), tensor.local.nbytes()};
    }
  }
  for (const auto& [key, blob] : state.per_rank) {
    sources.push_back(
        {kBlobPrefix + key, Shape{static_cast<std::int64_t>(blob.size())}, DType::u8, blob});
  }
  return sources;
}

void write_file(const fs_std::path& path, const std::vector<Source>& sources,
                const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsField> all;
  for (const Source& source : sources) {
    all.push_back({source.name, &source.shape, source.dtype});
  }
  const std::vector<std::size_t> order = safetensors_order(all);
  std::vector<SafetensorsField> fields;
  for (const std::size_t i : order) {
    fields.push_back(all[i]);
  }
  const std::string header = make_safetensors_header(fields, metadata);
  const auto fs = posix_file_system();
  const File out(*fs, path, O_WRONLY | O_CREAT | O_TRUNC);
  out.write_at(std::as_bytes(std::span(header)), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.write_at(sources[order[i]].bytes, header.size() + fields[i].data_offset);
  }
  out.sync();
}

void make_folder(const fs_std::path& folder) {
  std::error_code error;
  fs_std::create_directories(folder, error);
  if (error) {
    throw IoError(
        fmt::format("cannot create directory '{}': {}", folder.string(), error.message()));
  }
}

std::string shape_text(const Json& part) {
  return part.contains("start") ? fmt::format("block {} + {} of {}", part["start"].dump(),
                                              part["count"].dump(), part["global_shape"].dump())
                                : fmt::format("{} elements from {} of {}", part["numel"].dump(),
                                              part["offset"].dump(), part["global_shape"].dump());
}

/// The first difference between what was saved and what this rank wants.
void compare_parts(const fs_std::path& file, const Json& saved, const Json& wanted) {
  const auto refuse = [&](const std::string& problem) {
    throw ConfigError(
        fmt::format("{}: {} (a local state fits only as many ranks that hold the same "
                    "parts). Try: a checkpoint, or save_full_state",
                    file.string(), problem));
  };
  for (const char* key : {"world_size", "rank"}) {
    if (saved.at(key) != wanted.at(key)) {
      refuse(fmt::format("{} was {}, now {}", key, saved.at(key).dump(), wanted.at(key).dump()));
    }
  }
  const Json& there = saved.at("tensors");
  for (const auto& [key, part] : wanted.at("tensors").items()) {
    if (!there.contains(key)) {
      refuse(fmt::format("tensor '{}' is not there", key));
    }
    if (there[key] != part) {
      refuse(fmt::format("tensor '{}' is {} {} there, {} {} here", key,
                         there[key].at("dtype").get<std::string>(), shape_text(there[key]),
                         part.at("dtype").get<std::string>(), shape_text(part)));
    }
  }
  for (const auto& [key, part] : there.items()) {
    if (!wanted.at("tensors").contains(key)) {
      refuse(fmt::format("tensor '{}' is not here", key));
    }
  }
}

/// An opened file of this rank.
struct LocalFile {
  std::map<std::string, SafetensorsEntry> entries;
  std::map<std::string, std::string> texts;
  std::string uuid;
};

LocalFile open_file(const fs_std::path& path, const Json& wanted) {
  LocalFile file;
  auto entries = read_safetensors_header(path);
  refuse_foreign_types(entries);
  for (SafetensorsEntry& entry : entries) {
    file.entries.emplace(entry.name, std::move(entry));
  }
  file.texts = read_safetensors_metadata(path);
  const auto parts = file.texts.find(kPartsKey);
  validate(parts != file.texts.end(),
           fmt::format("{}: holds no local state of a rank", path.string()));
  const Json saved = parse_json_or_null<Json>(parts->second);
  validate(saved.is_object() && saved.contains("uuid") && saved.contains("tensors"),
           fmt::format("{}: does not say what its tensors are parts of", path.string()));
  compare_parts(path, saved, wanted);
  file.uuid = saved["uuid"].get<std::string>();
  file.texts.erase(parts);
  file.texts.erase("format");
  return file;
}

void read_file(const fs_std::path& path, const LocalFile& file, dtensor::StateDict& state) {
  const PositionedReader reader(path);
  for (auto& [key, tensor] : state.tensors) {
    if (tensor.spec.numel > 0) {
      reader.read(file.entries.at(key).file_offset, {tensor.local.raw(), tensor.local.nbytes()});
    }
  }
  for (const auto& [name, entry] : file.entries) {
    if (name.starts_with(kBlobPrefix)) {
      std::vector<std::byte> blob(static_cast<std::size_t>(entry.shape.numel()));
      reader.read(entry.file_offset, blob);
      state.per_rank[name.substr(std::string_view(kBlobPrefix).size())] = std::move(blob);
    }
  }
  for (const auto& [key, text] : file.texts) {
    state.common[key] = text;
  }
}

}  // namespace

void save_local_state(comm::MeshComms& comms, const dtensor::StateDict& given,
                      const fs_std::path& folder) {
  const comm::Ranks ranks{comms.world.get(), &comms.mesh};
  const dtensor::StateDict state = on_host(given);
  std::string uuid = make_uuid();
  broadcast_text(ranks, uuid);
  const fs_std::path file = file_of(folder, ranks.rank());
  fs_std::path temporary = file;
  temporary += ".tmp";
  all_or_none(ranks, [&] {
    check_not_empty(state);
    check_state(state);
    make_folder(folder);
    Json parts = parts_of(ranks, state);
    parts["uuid"] = uuid;
    std::map<std::string, std::string> metadata = state.common;
    metadata[kPartsKey] = parts.dump();
    write_file(temporary, sources_of(state), metadata);
  });
  all_or_none(ranks, [&] {
    const auto fs = posix_file_system();
    rename_path(*fs, temporary, file);
    sync_directory(*fs, folder);
  });
}

void load_local_state(comm::MeshComms& comms, const fs_std::path& folder,
                      dtensor::StateDict& state) {
  const comm::Ranks ranks{comms.world.get(), &comms.mesh};
  const fs_std::path path = file_of(folder, ranks.rank());
  LocalFile file;
  all_or_none(ranks, [&] {
    check_state(state);
    file = open_file(path, parts_of(ranks, state));
  });
  validate(same_on_all(ranks, file.uuid),
           fmt::format("the files in '{}' come from different saves (a later one was interrupted)",
                       folder.string()));
  HostCopies copies(state);
  all_or_none(ranks, [&] { read_file(path, file, state); });
  copies.finish();
}

}  // namespace sherd::io
