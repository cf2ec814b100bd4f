#include "io/whole/safetensors/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "io/whole/safetensors/element_type.hpp"
#include "io/whole/safetensors/repeated_name.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"
#include "sherd/base/regular_file.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

constexpr FilePurpose kHeaderPurpose{"it holds weights", "the path of a safetensors file"};

/// One tensor's place, relative to the end of the header.
struct Place {
  SafetensorsEntry entry;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The header of one file on its way from bytes to entries.
class HeaderParser {
 public:
  explicit HeaderParser(const std::filesystem::path& file) : file_(file) {}

  std::map<std::string, std::string> parse_metadata() {
    const Json json = parse_json(read_text());
    const auto found = json.find("__metadata__");
    if (found == json.end()) {
      return {};
    }
    check_metadata(*found);
    return found->get<std::map<std::string, std::string>>();
  }

  std::vector<SafetensorsEntry> parse() {
    const std::string text = read_text();
    const Json json = parse_json(text);
    std::vector<Place> places;
    for (const auto& [name, value] : json.items()) {
      if (name == "__metadata__") {
        check_metadata(value);
      } else {
        places.push_back(parse_tensor(name, value));
      }
    }
    check_cover(places);
    std::vector<SafetensorsEntry> entries;
    for (Place& place : places) {
      place.entry.file_offset = 8 + text.size() + place.begin;
      entries.push_back(std::move(place.entry));
    }
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw ConfigError(
        fmt::format("{}: {}. Try: copy or download the file again", file_.string(), problem));
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& problem) const {
    fail(fmt::format("tensor '{}': {}", tensor, problem));
  }

  std::string read_text() {
    const RegularFile in(file_, kHeaderPurpose);
    const std::uint64_t size = in.size();
    std::array<unsigned char, 8> prefix{};
    if (in.read(0, std::as_writable_bytes(std::span(prefix))) < 8) {
      fail(fmt::format("only {} bytes long (8 hold the length of the header)", size));
    }
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) {
      length = (length << 8) | prefix[i];
    }
    if (length > kMaxSafetensorsHeader) {
      fail(
          fmt::format("claims a header of {} bytes (at most {} are legal: this is no safetensors "
                      "file)",
                      length, kMaxSafetensorsHeader));
    }
    if (length > size - 8) {
      fail(fmt::format("claims a header of {} bytes, but only {} follow (the file is cut short)",
                       length, size - 8));
    }
    body_bytes_ = size - 8 - length;
    std::string text(length, '\0');
    if (in.read(8, std::as_writable_bytes(std::span(text))) < length) {
      fail("the header cannot be read (the file is being written)");
    }
    return text;
  }

  [[nodiscard]] Json parse_json(const std::string& text) const {
    if (text.empty() || text.front() != '{') {
      fail("the header does not begin with '{' (this is no safetensors file)");
    }
    Json json = sherd::parse_json<Json>(text, file_.string() + ": the header");
    if (const auto name = repeated_name(text)) {
      fail(*name, "given twice (only one of them could count)");
    }
    return json;
  }

  void check_metadata(const Json& value) const {
    const auto is_text = [](const Json& item) { return item.is_string(); };
    if (!value.is_object() || !std::all_of(value.begin(), value.end(), is_text)) {
      fail("__metadata__ does not map text to text");
    }
  }

  [[nodiscard]] std::uint64_t whole(const std::string& name, const Json& value,
                                    const char* what) const {
    if (!value.is_number_unsigned()) {
      fail(name, fmt::format("{} {} is not a whole number >= 0", what, quoted_json(value)));
    }
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] const Json& member(const std::string& name, const Json& tensor,
                                   const char* key) const {
    const auto found = tensor.find(key);
    if (found == tensor.end()) {
      fail(name, fmt::format("has no {}", key));
    }
    return *found;
  }

  [[nodiscard]] const ElementType& parse_type(const std::string& name, const Json& value) const {
    const ElementType* type =
        value.is_string() ? find_element_type(value.get<std::string>()) : nullptr;
    if (type == nullptr) {
      throw ConfigError(fmt::format(
          "{}: tensor '{}': dtype {} is not supported (how long its elements are is not known "
          "here). Try: weights in F32, F16 or BF16",
          file_.string(), name, quoted_json(value)));
    }
    return *type;
  }

  /// Fills the shape; returns the bytes it needs.
  [[nodiscard]] std::uint64_t parse_shape(const std::string& name, const Json& value, unsigned bits,
                                          Shape& shape) const {
    if (!value.is_array()) {
      fail(name, "shape is not a list");
    }
    std::vector<std::int64_t> extents;
    std::uint64_t numel = 1;
    bool empty = false;
    for (const Json& item : value) {
      const std::uint64_t extent = whole(name, item, "extent");
      empty = empty || extent == 0;
      if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
          __builtin_mul_overflow(numel, extent == 0 ? 1 : extent, &numel)) {
        fail_too_large(name, value);
      }
      extents.push_back(static_cast<std::int64_t>(extent));
    }
    shape = Shape(std::move(extents));
    return empty ? 0 : bytes_of(name, value, numel, bits);
  }

  [[nodiscard]] std::uint64_t bytes_of(const std::string& name, const Json& shape,
                                       std::uint64_t numel, unsigned bits) const {
    std::uint64_t bytes = 0;
    if (bits < 8) {  // several elements share a byte
      if (numel % 8 * bits % 8 != 0) {
        fail(name, fmt::format("shape {} fills no whole number of bytes", quoted_json(shape)));
      }
      bytes = numel / 8 * bits + numel % 8 * bits / 8;
    } else if (__builtin_mul_overflow(numel, bits / 8, &bytes)) {
      fail_too_large(name, shape);
    }
    return bytes;
  }

  [[noreturn]] void fail_too_large(const std::string& name, const Json& shape) const {
    fail(name, fmt::format("shape {} has more bytes than 64 bits can count", quoted_json(shape)));
  }

  [[nodiscard]] Place parse_tensor(const std::string& name, const Json& value) const {
    if (!value.is_object()) {
      fail(name, "is not described by a JSON object");
    }
    Place place;
    place.entry.name = name;
    place.entry.file = file_;
    const ElementType& type = parse_type(name, member(name, value, "dtype"));
    place.entry.dtype = type.dtype.value_or(DType::u8);
    place.entry.foreign_type = type.dtype ? "" : std::string(type.name);
    const std::uint64_t bytes =
        parse_shape(name, member(name, value, "shape"), type.bits, place.entry.shape);
    const Json& offsets = member(name, value, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2) {
      fail(name, "data_offsets is not a list of two numbers");
    }
    place.begin = whole(name, offsets[0], "offset");
    place.end = whole(name, offsets[1], "offset");
    if (place.begin > place.end || place.end - place.begin != bytes) {
      fail(name, fmt::format("offsets {} do not hold the {} bytes of shape {}",
                             quoted_json(offsets), bytes, place.entry.shape.to_string()));
    }
    if (place.end > body_bytes_) {
      fail(name, fmt::format("ends at byte {} of the data, but the file has only {} (it is cut "
                             "short)",
                             place.end, body_bytes_));
    }
    return place;
  }

  void check_cover(std::vector<Place>& places) const {
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t reached = 0;
    for (const Place& place : places) {
      if (place.begin < reached) {
        fail(place.entry.name, "overlaps another tensor's bytes");
      }
      if (place.begin > reached) {
        fail(place.entry.name,
             fmt::format("bytes {} to {} before it belong to no tensor", reached, place.begin));
      }
      reached = place.end;
    }
    if (reached != body_bytes_) {
      fail(fmt::format("the last {} bytes belong to no tensor", body_bytes_ - reached));
    }
  }

  std::filesystem::path file_;
  std::uint64_t body_bytes_ = 0;
};

}  // namespace

std::vector<SafetensorsEntry> read_safetensors_header(const std::filesystem::path& file) {
  return HeaderParser(file).parse();
}

void refuse_foreign_types(const std::vector<SafetensorsEntry>& entries) {
  for (const SafetensorsEntry& entry : entries) {
    if (!entry.foreign_type.empty()) {
      throw ConfigError(
          fmt::format("{}: tensor '{}' has elements of type {}, which no state of this program can "
                      "hold. Try: a "
                      "file whose tensors are of F64, F32, F16, BF16, I64, I32, U16 or U8",
                      entry.file.string(), entry.name, entry.foreign_type));
    }
  }
}

std::map<std::string, std::string> read_safetensors_metadata(const std::filesystem::path& file) {
  return HeaderParser(file).parse_metadata();
}

}  // namespace sherd::io
