#include "models/llama/hf_rope.hpp"

#include <fmt/format.h>

#include <string>

#include "sherd/base/json.hpp"

namespace sherd::models {
namespace {

using Json = HfReader::Json;

/// Throws for a kind that is not computed here.
[[noreturn]] void fail_kind(const HfReader& reader, const std::string& key, const Json& kind) {
  const char* instead = "a model whose rope_type is one of them";
  if (kind == "dynamic") {
    instead = "rope_scaling null, where no sequence is longer than max_position_embeddings";
  }
  reader.fail(key, fmt::format("{} is not supported (positions would be rotated wrongly; this "
                               "version knows \"default\" and \"llama3\"). Try: {}",
                               quoted_json(kind), instead));
}

/// "default" where the object does not say.
std::string kind_of(const HfReader& reader, const std::string& name, const Json& rope) {
  for (const char* key : {"rope_type", "type"}) {
    const auto kind = rope.find(key);
    if (kind == rope.end() || kind->is_null()) {
      continue;
    }
    if (*kind != "default" && *kind != "llama3") {
      fail_kind(reader, name + "." + key, *kind);
    }
    return kind->get<std::string>();
  }
  if (rope.contains("factor")) {
    reader.fail(name,
                "has a factor but no rope_type (what is scaled is not said). Try: the model's "
                "own config.json");
  }
  return "default";
}

RopeScaling llama3(const HfReader& reader, const std::string& name, const Json& rope) {
  const std::string prefix = name + ".";
  for (const char* key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    const auto value = rope.find(key);
    if (value == rope.end() || !value->is_number()) {
      reader.fail(prefix + key,
                  "is no number (llama3's positions need it). Try: the model's own "
                  "config.json");
    }
  }
  RopeScaling scaling;
  reader.real(rope, prefix, "factor", scaling.factor);
  reader.real(rope, prefix, "low_freq_factor", scaling.low_freq_factor);
  reader.real(rope, prefix, "high_freq_factor", scaling.high_freq_factor);
  reader.whole(rope, prefix, "original_max_position_embeddings",
               scaling.original_max_position_embeddings);
  return scaling;
}

void read_object(const HfReader& reader, const char* name, const Json& rope, LlamaConfig& config) {
  if (!rope.is_object()) {
    reader.fail(name, quoted_json(rope) + " is not an object. Try: null");
  }
  for (const auto& [key, value] : rope.items()) {
    if (value.is_object()) {
      reader.fail(std::string(name) + "." + key,
                  "is not supported (layers of several kinds rotate positions differently). Try: a "
                  "model of one kind of layers");
    }
  }
  if (kind_of(reader, name, rope) == "llama3") {
    config.rope_scaling = llama3(reader, name, rope);
  }
  const std::string prefix = std::string(name) + ".";
  reader.real(rope, prefix, "rope_theta", config.rope_theta);
  double rotated = 1.0;
  reader.real(rope, prefix, "partial_rotary_factor", rotated);
  if (rotated != 1.0) {
    reader.fail(
        prefix + "partial_rotary_factor",
        fmt::format("{} is not supported (a part of each head is not rotated). Try: a model "
                    "without it",
                    rotated));
  }
}

}  // namespace

void read_rope(const HfReader& reader, LlamaConfig& config) {
  reader.real("rope_theta", config.rope_theta);
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (const Json* rope = reader.find(name)) {
      read_object(reader, name, *rope, config);
    }
  }
}

}  // namespace sherd::models
