// Copy and digest in one pass.
#include "io/save/stager.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "io/disk/crc32c.hpp"
#include "io/disk/page.hpp"
#include "io/format/manifest.hpp"

namespace sherd::io {

Stager::Stager(const StateLayout& layout, const StagingPlan& plan, StageSources sources)
    : layout_(layout), plan_(plan), sources_(std::move(sources)), stretches_(item_count(layout)) {}

const std::byte* Stager::copy(const Chunk& chunk, std::byte* to) {
  const auto start = std::chrono::steady_clock::now();
  std::byte* const begin = to + chunk.file_offset % kPage;
  std::uint64_t at = 0;
  for (const ChunkPart& part : chunk.parts) {
    std::memset(begin + at, 0, part.at - at);
    take_part(part, begin + part.at);
    at = part.at + part.bytes;
  }
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return begin;
}

void Stager::take_digests(const Chunk& chunk) {
  for (const ChunkPart& part : chunk.parts) {
    take_part(part, nullptr);
  }
}

/// Copies to `to`, if anywhere, and digests in one pass, a stretch at a time.
void Stager::take_part(const ChunkPart& part, std::byte* to) {
  const bool fetched = sources_.on_device(part.item);
  if (fetched) {
    sources_.fetch(part.item, part.from, part.bytes, to);
  }
  const std::byte* const from = fetched ? to : sources_.item(part.item) + part.from;
  const bool copies = to != nullptr && !fetched;
  for (std::uint64_t at = 0; at < part.bytes;) {
    const std::uint64_t place = part.from + at;
    const std::uint64_t bytes =
        std::min(part.bytes - at, (place / kDigestBytes + 1) * kDigestBytes - place);
    const std::span<const std::byte> stretch(from + at, bytes);
    stretches_[part.item].push_back(
        {place, bytes, copies ? copy_crc32c(stretch, to + at) : crc32c(stretch)});
    at += bytes;
  }
}

std::vector<std::uint32_t> Stager::digests_of_parts(std::size_t item) {
  std::vector<Stretch>& stretches = stretches_[item];
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.from < b.from; });
  std::vector<std::uint32_t> parts;
  for (const Stretch& stretch : stretches) {
    if (stretch.from % kDigestBytes == 0) {
      parts.push_back(stretch.crc32c);
    } else {
      parts.back() = crc32c_combine(parts.back(), stretch.crc32c, stretch.bytes);
    }
  }
  return parts;
}

std::uint32_t Stager::digest(const ChunkPart& part) const {
  const std::vector<Stretch>& stretches = stretches_[part.item];
  auto stretch =
      std::lower_bound(stretches.begin(), stretches.end(), part.from,
                       [](const Stretch& each, std::uint64_t from) { return each.from < from; });
  std::uint32_t crc = stretch->crc32c;
  for (++stretch; stretch != stretches.end() && stretch->from < part.from + part.bytes; ++stretch) {
    crc = crc32c_combine(crc, stretch->crc32c, stretch->bytes);
  }
  return crc;
}

ItemDigests Stager::digests() {
  ItemDigests result;
  for (const std::size_t item : plan_.items) {
    std::vector<std::uint32_t> parts = digests_of_parts(item);
    std::uint64_t bytes = 0;
    for (const Stretch& stretch : stretches_[item]) {
      bytes += stretch.bytes;
    }
    std::uint32_t whole = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      whole = crc32c_combine(whole, parts[i], std::min(kDigestBytes, bytes - i * kDigestBytes));
    }
    result.whole.push_back(whole);
    if (item < layout_.tensors.size() && !layout_.tensors[item].blocks.empty()) {
      result.parts.push_back(std::move(parts));
    }
  }
  return result;
}

}  // namespace sherd::io
