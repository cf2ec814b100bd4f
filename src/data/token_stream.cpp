#include "data/token_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/text_folder.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"

namespace sherd::data {

namespace fs = std::filesystem;

void TokenStream::add(Part part) {
  part.first = size();
  if (part.count > 0) {
    parts_.push_back(std::move(part));
  }
}

TokenStream TokenStream::from_token_files(const config::DataConfig& config,
                                          std::int64_t vocab_size) {
  TokenStream stream;
  for (const fs::path& path : config.tokens) {
    stream.add({open_token_file(path, config, vocab_size)});
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
    stream.add({TokenFile{std::move(file), 0, {.bytes = 1}, count}});
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
    const std::size_t at =
        part->header_bytes + static_cast<std::size_t>(inside * part->format.bytes);
    const std::byte* from = part->file->bytes().data() + at;
    std::size_t good = 0;
    part->file->read([&] {
      good =
          widen_ids(from, part->format, static_cast<std::uint64_t>(vocab_size), out.first(count));
    });
    part->file->check_unchanged();
    if (good < count) {
      const std::size_t further = good * static_cast<std::size_t>(part->format.bytes);
      throw ConfigError(fmt::format(
          "{}: token {} is {}, but the model's vocabulary has {} (ids 0 to {}); it is at byte {}, "
          "read as {}. Try: a vocab_size that holds it, or data made with the model's tokenizer",
          part->file->path().string(), inside + static_cast<std::int64_t>(good),
          id_at(from + further, part->format), vocab_size, vocab_size - 1, at + further,
          to_string(part->format)));
    }
    out = out.subspan(count);
    first += static_cast<std::int64_t>(count);
  }
}

}  // namespace sherd::data
