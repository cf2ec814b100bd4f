#include "io/layout/utf8.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace sherd::io {
namespace {

bool is_between(std::string_view text, std::size_t at, unsigned low, unsigned high) noexcept {
  const unsigned byte = at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
  return byte >= low && byte <= high;
}

/// How many bytes the character at the beginning of `text` has; 0 when there is none.
std::size_t character_bytes(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) {
    return 1;
  }
  // The second byte of some is restricted: no overlong forms, surrogates, or points past U+10FFFF.
  const unsigned low = first == 0xE0 ? 0xA0 : (first == 0xF0 ? 0x90 : 0x80);
  const unsigned high = first == 0xED ? 0x9F : (first == 0xF4 ? 0x8F : 0xBF);
  std::size_t bytes = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    bytes = 2;
  } else if ((first & 0xF0) == 0xE0) {
    bytes = 3;
  } else if (first >= 0xF0 && first <= 0xF4) {
    bytes = 4;
  }
  if (bytes == 0 || !is_between(text, 1, low, high)) {
    return 0;
  }
  for (std::size_t i = 2; i < bytes; ++i) {
    if (!is_between(text, i, 0x80, 0xBF)) {
      return 0;
    }
  }
  return bytes;
}

}  // namespace

bool is_utf8_without_nul(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0 || text.front() == '\0') {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (bytes == 0 || first < 0x20 || first == 0x7F) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(first));
      text.remove_prefix(1);
    } else {
      result += text.substr(0, bytes);
      text.remove_prefix(bytes);
    }
  }
  return result;
}

}  // namespace sherd::io
