#include "fuzz/mutator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace sherd::fuzz {
namespace {

constexpr std::array<std::string_view, 20> kNumbers = {"0",
                                                       "-1",
                                                       "1",
                                                       "3.5",
                                                       "1e308",
                                                       "1e999",
                                                       "-0.0",
                                                       "2147483648",
                                                       "4294967296",
                                                       "9223372036854775807",
                                                       "9223372036854775808",
                                                       "-9223372036854775809",
                                                       "18446744073709551615",
                                                       "18446744073709551616",
                                                       "4611686018427387904",
                                                       "null",
                                                       "true",
                                                       "\"x\"",
                                                       "[]",
                                                       "{}"};

constexpr std::array<std::uint64_t, 8> kWords = {
    0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 255};

constexpr std::size_t kLongest = std::size_t{1} << 16;

struct Nesting {
  std::string_view open;
  std::string_view close;
};
constexpr std::array<Nesting, 5> kNestings = {
    {{"[", "]"}, {"{\"a\":", "}"}, {"{a: ", "}"}, {"- ", ""}, {"<<: *a ", ""}}};

bool digit(char c) { return c >= '0' && c <= '9'; }

/// The next place from `at` on that is a digit, or is none.
std::size_t digit_from(const std::string& text, std::size_t at, bool wanted) {
  while (at < text.size() && digit(text[at]) != wanted) {
    ++at;
  }
  return at;
}

}  // namespace

std::size_t Mutator::below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

std::string Mutator::next() {
  std::string text = seeds_[below(seeds_.size())];
  if (below(8) == 0) {  // the front of one and the end of another
    const std::string& other = seeds_[below(seeds_.size())];
    text = text.substr(0, below(text.size() + 1)) + other.substr(below(other.size() + 1));
  }
  for (std::size_t count = 1 + below(4); count > 0; --count) {
    change(text);
  }
  text.resize(std::min(text.size(), kLongest));
  return text;
}

void Mutator::change(std::string& text) {
  switch (below(8)) {
    case 0:
    case 1:
      change_bytes(text);
      break;
    case 2:
      change_word(text);
      break;
    case 3:
    case 4:
      replace_number(text);
      break;
    case 5:
      nest(text);
      break;
    default:
      move_stretch(text);
  }
}

void Mutator::change_bytes(std::string& text) {
  for (std::size_t count = 1 + below(4); count > 0 && !text.empty(); --count) {
    char& byte = text[below(text.size())];
    byte =
        below(2) == 0 ? static_cast<char>(byte ^ (1 << below(8))) : static_cast<char>(below(256));
  }
}

void Mutator::change_word(std::string& text) {
  const std::size_t bytes = std::size_t{1} << below(4);
  if (text.size() < bytes) {
    return;
  }
  const std::uint64_t word = kWords[below(kWords.size())];
  // Lengths stand at the front of most files.
  const std::size_t room = text.size() - bytes + 1;
  const std::size_t at = below(2) == 0 ? below(std::min<std::size_t>(room, 16)) : below(room);
  std::memcpy(text.data() + at, &word, bytes);
}

void Mutator::replace_number(std::string& text) {
  const std::size_t at = digit_from(text, below(text.size()), true);
  const std::size_t end = digit_from(text, at, false);
  text.replace(at, end - at, kNumbers[below(kNumbers.size())]);
}

void Mutator::move_stretch(std::string& text) {
  const std::size_t at = below(text.size());
  const std::size_t bytes = below(std::min<std::size_t>(text.size() - at, 64) + 1);
  const std::string stretch = text.substr(at, bytes);
  switch (below(3)) {
    case 0:
      text.erase(at, bytes);
      break;
    case 1:
      text.insert(below(text.size() + 1), stretch);
      break;
    default:
      text.resize(at);  // the file is cut
  }
}

void Mutator::nest(std::string& text) {
  const Nesting& nesting = kNestings[below(kNestings.size())];
  std::string all;
  const std::size_t depth = std::size_t{1} << below(15);
  for (std::size_t i = 0; i < depth; ++i) {
    all += nesting.open;
  }
  if (below(4) != 0) {  // else it is left open
    all += "1";
    for (std::size_t i = 0; i < depth; ++i) {
      all += nesting.close;
    }
  }
  std::size_t at = below(text.size() + 1);
  std::size_t end = at;
  if (below(4) != 0) {  // in the place of a number, where it is still well formed
    at = digit_from(text, at, true);
    end = digit_from(text, at, false);
  }
  text.replace(at, end - at, all);
}

}  // namespace sherd::fuzz
