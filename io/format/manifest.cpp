#include "io/format/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "io/disk/crc32c.hpp"
#include "io/disk/file_ops.hpp"
#include "io/disk/positioned_reader.hpp"
#include "io/format/format_version.hpp"
#include "io/format/manifest_numbers.hpp"
#include "io/format/rank_timing.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

constexpr const char* kDigestKey = "manifest_crc32c";

std::uint32_t digest(const Json& json) {
  const std::string text = json.dump();
  return crc32c(std::as_bytes(std::span(text)));
}

Json json_of(const PieceRecord& piece) {
  Json json = {{"rank", piece.rank},   {"file", piece.file},   {"file_offset", piece.file_offset},
               {"first", piece.first}, {"numel", piece.numel}, {"crc32c", piece.crc32c}};
  if (piece.block) {
    json["start"] = piece.block->start;
    json["count"] = piece.block->count;
    json["parts_crc32c"] = piece.parts_crc32c;
  }
  return json;
}

PieceRecord piece_of(const Json& json) {
  PieceRecord piece{json.at("rank").get<int>(),
                    json.at("file").get<std::size_t>(),
                    json.at("file_offset").get<std::uint64_t>(),
                    json.at("first").get<std::int64_t>(),
                    json.at("numel").get<std::int64_t>(),
                    json.at("crc32c").get<std::uint32_t>()};
  if (json.contains("start")) {
    piece.block = dtensor::Block{json.at("start").get<std::vector<std::int64_t>>(),
                                 json.at("count").get<std::vector<std::int64_t>>()};
    piece.parts_crc32c = json.at("parts_crc32c").get<std::vector<std::uint32_t>>();
  }
  return piece;
}

Json json_of(const TensorRecord& tensor) {
  Json pieces = Json::array();
  for (const PieceRecord& piece : tensor.pieces) {
    pieces.push_back(json_of(piece));
  }
  return {{"key", tensor.key},
          {"name", tensor.name},
          {"shape", tensor.shape.extents()},
          {"dtype", std::string(to_string(tensor.dtype))},
          {"replicated", tensor.placement == dtensor::Placement::replicated},
          {"requires_grad", tensor.requires_grad},
          {"aliases", tensor.aliases},
          {"pieces", std::move(pieces)}};
}

TensorRecord tensor_of(const Json& json) {
  TensorRecord tensor;
  tensor.key = json.at("key").get<std::string>();
  tensor.name = json.at("name").get<std::string>();
  tensor.shape = Shape(json.at("shape").get<std::vector<std::int64_t>>());
  tensor.dtype = parse_dtype(json.at("dtype").get<std::string>());
  tensor.placement = json.at("replicated").get<bool>() ? dtensor::Placement::replicated
                                                       : dtensor::Placement::sharded;
  tensor.requires_grad = json.at("requires_grad").get<bool>();
  tensor.aliases = json.at("aliases").get<std::vector<std::string>>();
  for (const Json& piece : json.at("pieces")) {
    tensor.pieces.push_back(piece_of(piece));
  }
  return tensor;
}

Json json_of(const BlobRecord& blob) {
  return {{"key", blob.key},     {"rank", blob.rank},
          {"file", blob.file},   {"file_offset", blob.file_offset},
          {"bytes", blob.bytes}, {"crc32c", blob.crc32c}};
}

Json json_of(const FileRecord& file) {
  return {{"name", file.name}, {"bytes", file.bytes}, {"structure_crc32c", file.structure_crc32c}};
}

Json json_of(const MetaRecord& meta) {
  return {{"key", meta.key},
          {"file_offset", meta.file_offset},
          {"bytes", meta.bytes},
          {"capacity", meta.capacity},
          {"crc32c", meta.crc32c}};
}

std::vector<MetaRecord> metas_of(const Json& list) {
  std::vector<MetaRecord> metas;
  for (const Json& json : list) {
    metas.push_back({json.at("key").get<std::string>(), json.at("file_offset").get<std::uint64_t>(),
                     json.at("bytes").get<std::uint64_t>(),
                     json.at("capacity").get<std::uint64_t>(),
                     json.at("crc32c").get<std::uint32_t>()});
  }
  return metas;
}

template <class T>
Json list_of(const std::vector<T>& records) {
  Json list = Json::array();
  for (const T& record : records) {
    list.push_back(json_of(record));
  }
  return list;
}

void fill_small_records(Manifest& manifest, const Json& json) {
  for (const Json& file : json.at("files")) {
    manifest.files.push_back({file.at("name").get<std::string>(),
                              file.at("bytes").get<std::uint64_t>(),
                              file.at("structure_crc32c").get<std::uint32_t>()});
  }
  for (const Json& blob : json.at("per_rank")) {
    manifest.blobs.push_back(
        {blob.at("key").get<std::string>(), blob.at("rank").get<int>(),
         blob.at("file").get<std::size_t>(), blob.at("file_offset").get<std::uint64_t>(),
         blob.at("bytes").get<std::uint64_t>(), blob.at("crc32c").get<std::uint32_t>()});
  }
  manifest.texts = metas_of(json.at("common"));
  manifest.own = metas_of(json.at("meta"));
  manifest.timing = timings_of(json.at("timing"));
}

bool block_fits(const PieceRecord& piece, const TensorRecord& tensor) {
  const std::vector<std::int64_t>& extents = tensor.shape.extents();
  const dtensor::Block& block = *piece.block;
  bool good = piece.first == 0 && block.start.size() == extents.size() &&
              block.count.size() == extents.size() && block.numel() == piece.numel;
  for (std::size_t d = 0; good && d < extents.size(); ++d) {
    good = block.start[d] >= 0 && block.count[d] > 0 && block.count[d] <= extents[d] &&
           block.start[d] <= extents[d] - block.count[d];
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype);
  return good && piece.parts_crc32c.size() == (bytes + kDigestBytes - 1) / kDigestBytes;
}

/// Every index and extent must point into what the manifest itself lists.
void check_references(const Manifest& manifest) {
  const auto inside = [&](std::size_t file, std::uint64_t offset, std::uint64_t bytes) {
    return file < manifest.files.size() && offset <= manifest.files[file].bytes &&
           bytes <= manifest.files[file].bytes - offset;
  };
  bool good = !manifest.files.empty() && manifest.world_size > 0;
  for (const TensorRecord& tensor : manifest.tensors) {
    std::int64_t at = 0;
    const bool in_blocks = !tensor.pieces.empty() && tensor.pieces.front().block.has_value();
    for (const PieceRecord& piece : tensor.pieces) {
      good = good && piece.numel > 0 && piece.block.has_value() == in_blocks &&
             (in_blocks ? block_fits(piece, tensor) : piece.first == at) &&
             inside(piece.file, piece.file_offset,
                    static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype));
      at += piece.numel;
    }
    good = good && at == tensor.shape.numel();
  }
  for (const BlobRecord& blob : manifest.blobs) {
    good = good && inside(blob.file, blob.file_offset, blob.bytes);
  }
  for (const auto* list : {&manifest.texts, &manifest.own}) {
    for (const MetaRecord& meta : *list) {
      good = good && meta.bytes <= meta.capacity && inside(0, meta.file_offset, meta.capacity);
    }
  }
  if (!good) {
    throw DamagedError("its records contradict each other");
  }
}

Manifest manifest_of(Json json) {
  if (json.at("format") != kFormatName) {
    throw DamagedError("not a checkpoint manifest");
  }
  if (json.at("version").get<int>() > kFormatVersion) {
    throw IoError(
        fmt::format("format version {} is newer than this program's {}. Try: a newer sherd",
                    json.at("version").get<int>(), kFormatVersion));
  }
  const auto expected = json.at(kDigestKey).get<std::uint32_t>();
  json.erase(kDigestKey);
  if (digest(json) != expected) {
    throw DamagedError("its own crc32c does not match");
  }
  refuse_impossible_numbers(json);
  Manifest manifest;
  manifest.step = json.at("step").get<std::int64_t>();
  manifest.world_size = json.at("world_size").get<int>();
  manifest.uuid = json.at("uuid").get<std::string>();
  manifest.lineage = read_lineage(json);
  manifest.host = json.at("host").get<std::string>();
  manifest.pid = json.at("pid").get<std::int64_t>();
  manifest.started = json.at("started").get<std::int64_t>();
  fill_small_records(manifest, json);
  for (const Json& tensor : json.at("tensors")) {
    manifest.tensors.push_back(tensor_of(tensor));
  }
  check_references(manifest);
  return manifest;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  Json json = {{"format", kFormatName},
               {"version", kFormatVersion},
               {"step", manifest.step},
               {"world_size", manifest.world_size},
               {"uuid", manifest.uuid},
               {"host", manifest.host},
               {"pid", manifest.pid},
               {"started", manifest.started},
               {"files", list_of(manifest.files)},
               {"tensors", list_of(manifest.tensors)},
               {"per_rank", list_of(manifest.blobs)},
               {"common", list_of(manifest.texts)},
               {"meta", list_of(manifest.own)},
               {"timing", json_of(manifest.timing)}};
  write_lineage(manifest.lineage, json);
  json[kDigestKey] = digest(json);
  return json.dump(1) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::filesystem::path& where) {
  const auto message = [&](const char* problem) {
    return fmt::format("'{}' is not usable: {}", where.string(), problem);
  };
  if (!text.ends_with("}\n")) {  // as to_json() ends: a byte less or more is damage
    throw DamagedError(message("it is cut off or not JSON of this format"));
  }
  try {
    return manifest_of(parse_json<Json>(text, where.string()));
  } catch (const Json::exception&) {
    throw DamagedError(message("it is cut off or not JSON of this format"));
  } catch (const DamagedError& error) {
    throw DamagedError(message(error.what()));
  } catch (const ConfigError& error) {
    throw DamagedError(message(error.what()));
  } catch (const IoError& error) {
    throw IoError(message(error.what()));
  }
}

Manifest read_manifest(const std::filesystem::path& file) {
  if (!is_there(file)) {
    throw DamagedError(fmt::format("file '{}' is missing", file.string()));
  }
  return parse_manifest(read_text(file), file);
}

}  // namespace sherd::io
