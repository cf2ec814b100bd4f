#include "data/manifest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "sherd/base/json.hpp"

namespace sherd::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kBlocks = 64;
constexpr int kTokenBytes = 2;  // where nobody says

void add_to(XXH3_state_t* state, std::span<const std::byte> bytes) {
  if (bytes.size() <= kBlock * kBlocks) {
    XXH3_64bits_update(state, bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::size_t at = (bytes.size() - kBlock) / (kBlocks - 1) * i;
    XXH3_64bits_update(state, bytes.data() + at, kBlock);
  }
  XXH3_64bits_update(state, bytes.data() + bytes.size() - kBlock, kBlock);
}

std::string hash(const MappedFile& file) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  file.read([&] { add_to(state.get(), file.bytes()); });
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

void compare_files(const Json& saved, const Json& now, std::vector<std::string>& changes) {
  for (std::size_t i = 0; i < std::min(saved.size(), now.size()); ++i) {
    const auto path = now[i].value("path", std::string());
    if (saved[i].at("bytes") != now[i].at("bytes")) {
      changes.push_back(fmt::format("{} has {} bytes, it had {}", path, now[i].at("bytes").dump(),
                                    saved[i].at("bytes").dump()));
    } else if (saved[i].at("xxh3") != now[i].at("xxh3")) {
      changes.push_back(fmt::format("{} has other content", path));
    }
  }
  if (saved.size() != now.size()) {
    changes.push_back(fmt::format("{} files, there were {}", now.size(), saved.size()));
  }
}

/// What ids without a header are read as, said where it is not what earlier versions read.
void add_format(const config::DataConfig& config, Json& json) {
  if (config.token_bytes > kTokenBytes) {
    json["token_bytes"] = config.token_bytes;
  }
  if (config.token_byte_order == config::DataConfig::ByteOrder::big) {
    json["token_byte_order"] = "big";
  }
}

void compare_formats(const Json& saved, const Json& now, std::vector<std::string>& changes) {
  const auto compare = [&](const char* key, const Json& otherwise) {
    const Json before = saved.contains(key) ? saved.at(key) : otherwise;
    const Json after = now.contains(key) ? now.at(key) : otherwise;
    if (before != after) {
      changes.push_back(fmt::format("{} is {}, it was {}", key, after.dump(), before.dump()));
    }
  };
  compare("token_bytes", kTokenBytes);
  compare("token_byte_order", "little");
}

}  // namespace

std::string make_manifest(const TokenStream& stream, const config::DataConfig& config,
                          std::int64_t global_batch_size, std::uint64_t seed) {
  Json json;
  json["kind"] = config.text.empty() ? "tokens" : "text";
  json["sequence_length"] = config.sequence_length;
  json["global_batch_size"] = global_batch_size;
  const bool shuffled = config.order == config::DataConfig::Order::shuffled;
  json["order"] = shuffled ? "shuffled" : "sequential";
  json["shuffle_seed"] = shuffled ? Json(seed) : Json();
  add_format(config, json);
  json["files"] = Json::array();
  for (const TokenStream::Part& part : stream.parts()) {
    json["files"].push_back({{"path", part.file->path().string()},
                             {"bytes", part.file->bytes().size()},
                             {"xxh3", hash(*part.file)}});
  }
  return json.dump();
}

std::vector<std::string> manifest_changes(const std::string& saved, const std::string& now) {
  std::vector<std::string> changes;
  try {
    const Json before = parse_json<Json>(saved, "saved");
    const Json after = parse_json<Json>(now, "now");
    for (const char* key :
         {"kind", "sequence_length", "global_batch_size", "order", "shuffle_seed"}) {
      if (before.at(key) != after.at(key)) {
        changes.push_back(
            fmt::format("{} is {}, it was {}", key, after.at(key).dump(), before.at(key).dump()));
      }
    }
    compare_formats(before, after, changes);
    compare_files(before.at("files"), after.at("files"), changes);
  } catch (const ConfigError&) {
    changes.emplace_back("the checkpoint's description of its data cannot be read");
  } catch (const nlohmann::json::exception&) {
    changes.emplace_back("the checkpoint's description of its data cannot be read");
  }
  return changes;
}

}  // namespace sherd::data
