#include "io/format/manifest_numbers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/disk/damaged.hpp"
#include "sherd/base/json.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kWidestElement = 8;

/// Whether a field's numbers are digests, which have 32 bits.
bool is_digest(std::string_view key) { return key.ends_with("crc32c"); }

/// Whether a field's numbers are held in an int.
bool is_int(std::string_view key) {
  constexpr std::array<std::string_view, 3> kInts = {"rank", "world_size", "version"};
  return std::find(kInts.begin(), kInts.end(), key) != kInts.end();
}

bool fits(std::string_view key, const Json& value) {
  try {
    if (is_digest(key)) {
      (void)whole_number<std::uint32_t>(value, key);
      return true;
    }
    if (is_int(key)) {
      return whole_number<int>(value, key) >= 0;
    }
    return whole_number<std::int64_t>(value, key) >= 0;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Counts the bytes of a shape whose extents fit already.
bool countable(const Json& shape) {
  std::int64_t bytes = kWidestElement;
  for (const Json& extent : shape) {
    if (!extent.is_number() || __builtin_mul_overflow(bytes, extent.get<std::int64_t>(), &bytes)) {
      return false;
    }
  }
  return true;
}

bool possible(const Json& value, std::string_view key) {
  if (value.is_number()) {
    return fits(key, value);
  }
  if (value.is_object()) {
    for (const auto& [name, item] : value.items()) {
      if (!possible(item, name) || (name == "shape" && !countable(item))) {
        return false;
      }
    }
  } else if (value.is_array()) {
    for (const Json& item : value) {
      if (!possible(item, key)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

void refuse_impossible_numbers(const Json& manifest) {
  if (!possible(manifest, "")) {
    throw DamagedError("one of its numbers is out of range");
  }
}

}  // namespace sherd::io
