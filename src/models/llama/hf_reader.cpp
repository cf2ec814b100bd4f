#include "models/llama/hf_reader.hpp"

#include <fmt/format.h>

#include <limits>

#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::models {

HfReader::HfReader(const std::string& text, std::string where) : where_(std::move(where)) {
  json_ = parse_json<Json>(text, where_);
  if (!json_.is_object()) {
    throw ConfigError(fmt::format(
        "{}: does not hold a JSON object. Try: the config.json of a Llama model", where_));
  }
}

const HfReader::Json* HfReader::find(const char* key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void HfReader::whole(const char* key, std::int64_t& out, bool required) const {
  if (required && find(key) == nullptr) {
    fail(key,
         "missing (the model's sizes are needed). Try: the config.json that belongs to the "
         "weights");
  }
  whole(json_, "", key, out);
}

void HfReader::whole(const Json& object, const std::string& prefix, const char* key,
                     std::int64_t& out) const {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) {
    return;
  }
  if (!value->is_number_integer()) {
    fail(prefix + key,
         quoted_json(*value) + " is not a whole number. Try: a number without quotes or dot");
  }
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(kLargest)) {
    fail(prefix + key,
         quoted_json(*value) + " is larger than any size. Try: the model's own config.json");
  }
  out = value->get<std::int64_t>();
}

void HfReader::real(const Json& object, const std::string& prefix, const char* key,
                    double& out) const {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) {
    return;
  }
  if (!value->is_number()) {
    fail(prefix + key, quoted_json(*value) + " is not a number. Try: a number without quotes");
  }
  out = value->get<double>();
}

void HfReader::flag(const char* key, bool& out) const {
  if (const Json* value = find(key)) {
    if (!value->is_boolean()) {
      fail(key, quoted_json(*value) + " is not true or false. Try: one of them");
    }
    out = value->get<bool>();
  }
}

void HfReader::must_be(const char* key, const std::string& wanted) const {
  const Json* value = find(key);
  if (value != nullptr && (!value->is_string() || value->get<std::string>() != wanted)) {
    fail(key, fmt::format("{} is not supported (this version knows \"{}\"). Try: a model whose {} "
                          "is that",
                          quoted_json(*value), wanted, key));
  }
}

void HfReader::fail(const std::string& key, const std::string& problem) const {
  throw ConfigError(fmt::format("{}: {}: {}", where_, key, problem));
}

}  // namespace sherd::models
