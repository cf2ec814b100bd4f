#include "sherd/base/printable.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace sherd {
namespace {

/// A character at the front of a text. A byte that begins none counts as one of value `kNone`.
struct Character {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::uint32_t value = kNone;
  std::size_t bytes = 1;
};

std::size_t length_of(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first < 0xE0) {
    return 2;
  }
  if (first >= 0xE0 && first < 0xF0) {
    return 3;
  }
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool legal(std::uint32_t value, std::size_t bytes) {
  const bool shortest = bytes < 3 || value >= (bytes == 3 ? 0x800U : 0x10000U);
  return shortest && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

Character next_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = length_of(first);
  if (bytes == 0 || bytes > text.size()) {
    return {};
  }
  std::uint32_t value = bytes == 1 ? first : first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto more = static_cast<unsigned char>(text[i]);
    if ((more & 0xC0U) != 0x80U) {
      return {};
    }
    value = (value << 6) | (more & 0x3FU);
  }
  return legal(value, bytes) ? Character{value, bytes} : Character{};
}

bool shows(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool line_break = c == 0x2028 || c == 0x2029;
  const bool direction = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return c != Character::kNone && !control && !line_break && !direction;
}

std::string escape(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = next_character(text);
    if (shows(c.value) || (keep_lines && (c.value == '\n' || c.value == '\t'))) {
      out.append(text.substr(0, c.bytes));
    } else {
      for (const char byte : text.substr(0, c.bytes)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escape(text, true); }
bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character c = next_character(text);
    if (c.value == Character::kNone) {
      return false;
    }
    text.remove_prefix(c.bytes);
  }
  return true;
}

std::string printable_name(std::string_view text) { return escape(text, false); }

}  // namespace sherd
