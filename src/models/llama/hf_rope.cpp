#include "models/llama/hf_rope.hpp"

#include <fmt/format.h>

#include <string>

#include "sherd/base/json.hpp"

namespace sherd::models {
namespace {

using Json = HfReader::Json;

/// "default" where the object does not say.
std::string type_of(const HfReader& reader, const std::string& name, const Json& rope) {
  for (const char* key : {"rope_type", "type"}) {
    const auto type = rope.find(key);
    if (type == rope.end() || type->is_null()) {
      continue;
    }
    if (!type->is_string() || *type != "default") {
      reader.fail(
          name + "." + key,
          fmt::format("{} is not supported (positions would be rotated wrongly; this version "
                      "knows \"default\"). Try: a model of that kind, with rope_scaling null",
                      quoted_json(*type)));
    }
    return type->get<std::string>();
  }
  if (rope.contains("factor")) {
    reader.fail(name,
                "has a factor but no rope_type (what is scaled is not said). Try: the model's "
                "own config.json");
  }
  return "default";
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
  (void)type_of(reader, name, rope);
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
