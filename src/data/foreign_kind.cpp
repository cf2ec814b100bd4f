// Files that people have in the place of token ids, known by their first bytes.
#include "data/foreign_kind.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "sherd/base/error.hpp"

namespace sherd::data {
namespace {

using namespace std::string_view_literals;
namespace fs = std::filesystem;

struct Kind {
  std::string_view magic;
  std::string_view what;
  std::string_view instead;
};

constexpr std::string_view kUnpack = "unpack it, and name the file that comes out";
constexpr std::string_view kConvert = "write the ids out as raw little-endian integers";

/// Long enough, with what the formats fix after their magic, that ids hardly begin so.
constexpr std::array<Kind, 13> kKinds{{
    {"\x1f\x8b\x08"sv, "compressed by gzip", kUnpack},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd", kUnpack},
    {"\xfd\x37\x7a\x58\x5a\x00"sv, "compressed by xz", kUnpack},
    {"BZh"sv, "compressed by bzip2", kUnpack},
    {"\x04\x22\x4d\x18"sv, "compressed by lz4", kUnpack},
    {"PK\x03\x04"sv, "a zip archive (numpy's .npz is one)", kConvert},
    {"PAR1"sv, "a Parquet file", kConvert},
    {"ARROW1\0\0"sv, "an Arrow file", kConvert},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", kConvert},
    {"MMIDIDX\0\0"sv, "Megatron's index, which holds no ids", "the .bin beside it"},
    {"TNTIDX\0\0"sv, "fairseq's index, which holds no ids", "the .bin beside it"},
    {"%PDF-"sv, "a PDF document", "the ids a tokenizer makes of its text"},
    {"\x80\x02\x8a\x0a"sv, "a file of torch.save", kConvert},
}};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void refuse(const fs::path& file, std::string_view what, std::string_view instead) {
  throw ConfigError(
      fmt::format("{}: {}, not a stream of token ids (it would be read as ids). Try: "
                  "{}",
                  file.string(), what, instead));
}

[[noreturn]] void refuse_numpy(const fs::path& file, std::string_view text,
                               std::int64_t vocab_size) {
  constexpr std::string_view kKey = "'descr': '";
  const auto head = text.substr(0, 256);
  const auto at = head.find(kKey);
  const auto from = at == std::string_view::npos ? head.size() : at + kKey.size();
  const auto dtype = head.substr(from, head.find('\'', from) - from);
  const bool wide = vocab_size > 65536;
  refuse(file, fmt::format("numpy's file of an array (.npy{}{})", dtype.empty() ? "" : ", ", dtype),
         fmt::format("numpy.load('{}').astype('<u{}').tofile('{}'), and {}data.tokens={}",
                     file.filename().string(), wide ? 4 : 2,
                     fs::path(file).filename().replace_extension(".bin").string(),
                     wide ? "data.token_bytes=4 " : "",
                     fs::path(file).replace_extension(".bin").string()));
}

/// Bytes that follow the first of a character in UTF-8; -1: no character begins so.
int following(unsigned char first) {
  if (first < 0x80) {
    const bool printed = (first >= 0x20 && first != 0x7f) || (first >= 0x09 && first <= 0x0d);
    return printed ? 0 : -1;
  }
  return first >= 0xf0 ? (first < 0xf5 ? 3 : -1) : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : -1;
}

/// Whether the beginning is printed characters in UTF-8 alone: ids have zeros and control
/// characters among their bytes.
bool is_text(std::string_view text) {
  constexpr std::size_t kLeast = 24;
  constexpr std::size_t kLooked = 4096;
  const std::size_t end = std::min(text.size(), kLooked);
  for (std::size_t at = 0; at < end; ++at) {
    const int more = following(static_cast<unsigned char>(text[at]));
    if (more < 0) {
      return false;
    }
    for (int i = 0; i < more && at + 1 < end; ++i) {
      if ((static_cast<unsigned char>(text[++at]) & 0xc0U) != 0x80U) {
        return false;
      }
    }
  }
  return text.size() >= kLeast;
}

/// The width that Megatron's index gives, 0 when it names no whole numbers; none without an index.
std::optional<int> width_in_index(const fs::path& index) {
  constexpr std::string_view kMagic = "MMIDIDX\0\0"sv;
  constexpr std::size_t kTypeAt = 17;  // after the magic and a version of 8 bytes
  constexpr std::array<int, 9> kWidths{0, 1, 1, 2, 4, 8, 0, 0, 2};
  std::array<char, kTypeAt + 1> head{};
  std::error_code ignored;
  if (!fs::is_regular_file(index, ignored)) {
    return std::nullopt;
  }
  std::ifstream in(index, std::ios::binary);
  in.read(head.data(), head.size());
  if (std::string_view(head.data(), kMagic.size()) != kMagic) {
    return std::nullopt;
  }
  const auto type = static_cast<unsigned char>(head[kTypeAt]);
  return in && type < kWidths.size() ? kWidths[type] : 0;
}

}  // namespace

void refuse_other_kinds(const fs::path& file, std::span<const std::byte> bytes,
                        std::int64_t vocab_size) {
  const std::string_view text = as_text(bytes);
  if (text.substr(0, 6) == "\x93NUMPY"sv) {
    refuse_numpy(file, text, vocab_size);
  }
  for (const Kind& kind : kKinds) {
    if (text.substr(0, kind.magic.size()) == kind.magic) {
      refuse(file, kind.what, kind.instead);
    }
  }
  if (is_text(text)) {
    refuse(file, "text",
           fmt::format("data.text=[{}] for a model of bytes, or the ids a tokenizer makes of it",
                       file.string()));
  }
}

void refuse_indexed(const fs::path& file, int token_bytes) {
  const fs::path index = fs::path(file).replace_extension(".idx");
  const auto width = width_in_index(index);
  if (!width || (token_bytes != 0 && (*width == 0 || *width == token_bytes))) {
    return;
  }
  const std::string says =
      *width == 0 ? "" : fmt::format("and says that the ids have {} bits", 8 * *width);
  throw ConfigError(fmt::format(
      "{}: {} beside it is Megatron's index {}(the documents and the width of the ids are in it, "
      "which this program does not read). Try: data.token_bytes={} to read the ids as one stream",
      file.string(), index.filename().string(), says.empty() ? "" : says + " ",
      *width == 0 ? "2 or 4" : fmt::format("{}", *width)));
}

}  // namespace sherd::data
