#include "data/token_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "data/text_folder.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"

namespace sherd::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 1024;
constexpr std::int32_t kMagic16 = 20240520;
constexpr std::int32_t kMagic32 = 20240801;
constexpr std::int32_t kMagicEval = 20240522;

[[noreturn]] void fail(const fs::path& file, const std::string& problem) {
  throw ConfigError(fmt::format("{}: {}. Try: make the file again with the tool that wrote it",
                                file.string(), problem));
}

TokenStream::Part with_header(std::unique_ptr<MappedFile> file,
                              const std::array<std::int32_t, 3>& header) {
  const bool wide = header[0] == kMagic32;
  const std::int32_t version = wide ? 7 : 1;
  if (header[1] != version) {
    fail(file->path(),
         fmt::format("token file of version {} (this program reads {})", header[1], version));
  }
  TokenStream::Part part{std::move(file), kHeaderBytes, wide ? 4 : 2, 0, header[2]};
  const std::size_t bytes = part.file->bytes().size();
  const auto wanted = static_cast<std::int64_t>(kHeaderBytes) + part.count * part.token_bytes;
  if (part.count < 0 || static_cast<std::int64_t>(bytes) != wanted) {
    fail(part.file->path(),
         fmt::format("its header promises {} tokens, {} bytes in all, but it has {}", part.count,
                     wanted, bytes));
  }
  return part;
}

TokenStream::Part open_token_file(const fs::path& path) {
  auto file = std::make_unique<MappedFile>(path);
  const auto bytes = file->bytes();
  std::array<std::int32_t, 3> header{};
  if (bytes.size() >= kHeaderBytes) {
    std::memcpy(header.data(), bytes.data(), sizeof(header));
  }
  if (header[0] == kMagicEval) {
    fail(path, "holds evaluation examples, not a stream of tokens");
  }
  if (header[0] == kMagic16 || header[0] == kMagic32) {
    return with_header(std::move(file), header);
  }
  if (bytes.size() % 2 != 0) {
    fail(path,
         fmt::format("{} bytes long, which is no whole number of 16-bit tokens", bytes.size()));
  }
  return {std::move(file), 0, 2, 0, static_cast<std::int64_t>(bytes.size() / 2)};
}

/// Widens `count` tokens and returns the index of the first that is not below `limit`, or `count`.
template <class T>
std::size_t widen(const std::byte* from, std::int64_t limit, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    if (static_cast<std::int64_t>(value) >= limit) {
      return i;
    }
    out[i] = static_cast<std::int32_t>(value);
  }
  return out.size();
}

std::size_t widen(int token_bytes, const std::byte* from, std::int64_t limit,
                  std::span<std::int32_t> out) {
  switch (token_bytes) {
    case 1:
      return widen<std::uint8_t>(from, limit, out);
    case 2:
      return widen<std::uint16_t>(from, limit, out);
    default:
      return widen<std::uint32_t>(from, limit, out);
  }
}

std::uint64_t value_at(const std::byte* from, int token_bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, static_cast<std::size_t>(token_bytes));
  return value;
}

}  // namespace

void TokenStream::add(Part part) {
  part.first = size();
  if (part.count > 0) {
    parts_.push_back(std::move(part));
  }
}

TokenStream TokenStream::from_token_files(const std::vector<fs::path>& files) {
  TokenStream stream;
  for (const fs::path& file : files) {
    stream.add(open_token_file(file));
  }
  return stream;
}

TokenStream TokenStream::from_text(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) {
      const std::vector<fs::path> below = files_below(path);
      files.insert(files.end(), below.begin(), below.end());
    } else {
      files.push_back(path);
    }
  }
  TokenStream stream;
  for (const fs::path& path : files) {
    auto file = std::make_unique<MappedFile>(path);
    const auto count = static_cast<std::int64_t>(file->bytes().size());
    stream.add({std::move(file), 0, 1, 0, count});
  }
  return stream;
}

std::int64_t TokenStream::size() const noexcept {
  return parts_.empty() ? 0 : parts_.back().first + parts_.back().count;
}

void TokenStream::copy(std::int64_t first, std::int64_t vocab_size,
                       std::span<std::int32_t> out) const {
  expect(first >= 0 && static_cast<std::int64_t>(out.size()) <= size() - first,
         "range beyond the end of the token stream");
  auto part = std::upper_bound(parts_.begin(), parts_.end(), first,
                               [](std::int64_t at, const Part& p) { return at < p.first; });
  for (part = part == parts_.begin() ? part : part - 1; !out.empty(); ++part) {
    const std::int64_t inside = first - part->first;
    const auto count = std::min(out.size(), static_cast<std::size_t>(part->count - inside));
    const std::byte* from =
        part->file->bytes().data() + part->header_bytes + inside * part->token_bytes;
    std::size_t good = 0;
    part->file->read([&] { good = widen(part->token_bytes, from, vocab_size, out.first(count)); });
    part->file->check_unchanged();
    if (good < count) {
      throw ConfigError(fmt::format(
          "{}: token {} is {}, but the model's vocabulary has {} (ids 0 to {}). Try: a vocab_size "
          "that holds it, or data made with the model's tokenizer",
          part->file->path().string(), inside + static_cast<std::int64_t>(good),
          value_at(from + good * static_cast<std::size_t>(part->token_bytes), part->token_bytes),
          vocab_size, vocab_size - 1));
    }
    out = out.subspan(count);
    first += static_cast<std::int64_t>(count);
  }
}

}  // namespace sherd::data
