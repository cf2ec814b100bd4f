#include "data/token_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>

#include "data/foreign_kind.hpp"
#include "data/looks_like.hpp"
#include "sherd/base/error.hpp"

namespace sherd::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 1024;
constexpr std::int32_t kMagic16 = 20240520;
constexpr std::int32_t kMagic32 = 20240801;
constexpr std::int32_t kMagicEval = 20240522;
constexpr std::int64_t kMostOf16Bits = 65536;

[[noreturn]] void fail(const fs::path& file, const std::string& problem) {
  throw ConfigError(fmt::format("{}: {}. Try: make the file again with the tool that wrote it",
                                file.string(), problem));
}

TokenFile with_header(std::unique_ptr<MappedFile> file, const std::array<std::int32_t, 3>& header) {
  const bool wide = header[0] == kMagic32;
  const std::int32_t version = wide ? 7 : 1;
  if (header[1] != version) {
    fail(file->path(),
         fmt::format("token file of version {} (this program reads {})", header[1], version));
  }
  TokenFile result{std::move(file), kHeaderBytes, {.bytes = wide ? 4 : 2}, header[2]};
  const std::size_t bytes = result.file->bytes().size();
  const auto wanted = static_cast<std::int64_t>(kHeaderBytes) + result.count * result.format.bytes;
  if (result.count < 0 || static_cast<std::int64_t>(bytes) != wanted) {
    fail(result.file->path(),
         fmt::format("its header promises {} tokens, {} bytes in all, but it has {}", result.count,
                     wanted, bytes));
  }
  return result;
}

/// The settings that turn `stated` into `wanted`.
std::string settings(const IdFormat& stated, const IdFormat& wanted) {
  std::string text;
  if (stated.bytes != wanted.bytes) {
    text = fmt::format("data.token_bytes={}", wanted.bytes);
  }
  if (stated.order != wanted.order) {
    text += fmt::format("{}data.token_byte_order={}", text.empty() ? "" : " ",
                        wanted.order == IdFormat::ByteOrder::big ? "big" : "little");
  }
  return text;
}

IdFormat::ByteOrder order_of(const config::DataConfig& config) {
  return config.token_byte_order.value_or(IdFormat::ByteOrder::little);
}

void require_width(const MappedFile& file, const config::DataConfig& config,
                   std::int64_t vocab_size) {
  if (config.token_bytes != 0 || vocab_size <= kMostOf16Bits || file.bytes().empty()) {
    return;
  }
  const IdFormat unstated{.bytes = 0, .order = order_of(config)};
  const auto likely = likely_format(file.bytes(), vocab_size);
  throw ConfigError(fmt::format(
      "{}: no header and no data.token_bytes says how wide its ids are (16 bits, which are meant "
      "without it, do not hold the model's vocabulary of {}{}). Try: {}",
      file.path().string(), vocab_size,
      likely ? fmt::format("; they look like {}", to_string(*likely)) : "",
      settings(unstated, likely.value_or(IdFormat{.bytes = 4, .order = unstated.order}))));
}

void refuse_contradiction(const MappedFile& file, const IdFormat& stated, std::int64_t vocab_size) {
  if (const auto other = contradicting_format(file.bytes(), stated, vocab_size)) {
    throw ConfigError(fmt::format(
        "{}: looks like {}, but is to be read as {} (the model would be trained on other tokens). "
        "Try: {}",
        file.path().string(), to_string(*other), to_string(stated), settings(stated, *other)));
  }
}

TokenFile without_header(std::unique_ptr<MappedFile> file, const config::DataConfig& config,
                         std::int64_t vocab_size) {
  const auto bytes = file->bytes();
  refuse_other_kinds(file->path(), bytes, vocab_size);
  refuse_indexed(file->path(), config.token_bytes);
  require_width(*file, config, vocab_size);
  const IdFormat format{.bytes = config.token_bytes == 0 ? 2 : config.token_bytes,
                        .order = order_of(config)};
  const auto width = static_cast<std::size_t>(format.bytes);
  if (bytes.size() % width != 0) {
    fail(file->path(), fmt::format("{} bytes long, which is no whole number of {}-bit tokens",
                                   bytes.size(), 8 * width));
  }
  refuse_contradiction(*file, format, vocab_size);
  const auto count = static_cast<std::int64_t>(bytes.size() / width);
  return {std::move(file), 0, format, count};
}

}  // namespace

TokenFile open_token_file(const fs::path& path, const config::DataConfig& config,
                          std::int64_t vocab_size) {
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
  return without_header(std::move(file), config, vocab_size);
}

}  // namespace sherd::data
