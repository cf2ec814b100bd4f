#include "data/looks_like.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace sherd::data {
namespace {

using ByteOrder = IdFormat::ByteOrder;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kPiece = 4096;  // a multiple of every width
constexpr std::size_t kPieces = 64;
constexpr std::size_t kLeastIds = 16;
constexpr std::size_t kLeastKinds = 3;
constexpr std::uint64_t kMillion = std::uint64_t{1} << 20;  // beyond any tokenizer's ids

/// Stretches of the file that begin at multiples of 8, so that they hold whole ids of any width.
std::vector<Bytes> sample(Bytes bytes) {
  std::vector<Bytes> pieces;
  if (bytes.size() <= kPiece * kPieces) {
    pieces.push_back(bytes);
    return pieces;
  }
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::size_t at = (bytes.size() - kPiece) / (kPieces - 1) * i / 8 * 8;
    pieces.push_back(bytes.subspan(at, kPiece));
  }
  return pieces;
}

/// What the ids of a sample are in one format.
struct Reading {
  std::size_t ids = 0;
  std::size_t beyond = 0;  ///< not below the vocabulary's size
  std::size_t above_million = 0;
  std::size_t swapped = 0;        ///< multiples of 256: small ids of the other byte order
  std::set<std::uint64_t> kinds;  ///< a few different ids that are not 0

  [[nodiscard]] bool fits() const { return beyond == 0 && kinds.size() >= kLeastKinds; }
  /// As ids of a somewhat larger vocabulary would be: an error, but of these ids.
  [[nodiscard]] bool nearly_fits() const {
    return above_million == 0 && 2 * beyond < ids && kinds.size() >= kLeastKinds;
  }
  [[nodiscard]] bool all_swapped() const { return swapped == ids; }
};

Reading read_as(const std::vector<Bytes>& pieces, const IdFormat& format, std::int64_t vocab_size) {
  Reading reading;
  const auto width = static_cast<std::size_t>(format.bytes);
  for (const Bytes& piece : pieces) {
    for (std::size_t at = 0; at + width <= piece.size(); at += width) {
      const std::uint64_t id = id_at(piece.data() + at, format);
      ++reading.ids;
      reading.beyond += id >= static_cast<std::uint64_t>(vocab_size) ? 1 : 0;
      reading.above_million += id >= kMillion ? 1 : 0;
      reading.swapped += id % 256 == 0 ? 1 : 0;
      if (id != 0 && reading.kinds.size() < kLeastKinds) {
        reading.kinds.insert(id);
      }
    }
  }
  return reading;
}

/// Whether so many ids of any bytes would hardly all be in the vocabulary.
bool is_no_chance(const Reading& reading, const IdFormat& format, std::int64_t vocab_size) {
  const double all = std::ldexp(1.0, 8 * format.bytes);
  const double share = std::min(1.0, static_cast<double>(vocab_size) / all);
  return static_cast<double>(reading.ids) * std::log(share) < std::log(1e-6);
}

/// All formats, the wide ones first: ids that fit in 64 bits fit in their low 16 too.
std::array<IdFormat, 6> candidates(ByteOrder first) {
  const ByteOrder second = first == ByteOrder::little ? ByteOrder::big : ByteOrder::little;
  return {{{8, first}, {8, second}, {4, first}, {4, second}, {2, first}, {2, second}}};
}

bool is_better(const Reading& own, const IdFormat& stated, const Reading& other,
               const IdFormat& format, std::int64_t vocab_size) {
  const bool no_chance = is_no_chance(other, format, vocab_size);
  if (format.bytes > stated.bytes) {
    const bool own_is_good = own.fits() && is_no_chance(own, stated, vocab_size);
    return no_chance && (other.fits() || (other.nearly_fits() && !own_is_good));
  }
  if (!other.fits()) {
    return false;
  }
  if (format.bytes < stated.bytes) {  // two narrow ids as a wide one exceed any vocabulary
    return 2 * own.beyond >= own.ids && (no_chance || 2 * own.above_million >= own.ids);
  }
  if (own.beyond == 0) {
    return own.all_swapped() && own.kinds.size() >= kLeastKinds && !other.all_swapped();
  }
  return no_chance;
}

}  // namespace

std::optional<IdFormat> likely_format(Bytes bytes, std::int64_t vocab_size) {
  const auto pieces = sample(bytes);
  for (const IdFormat& format : candidates(ByteOrder::little)) {
    const bool whole = bytes.size() % static_cast<std::size_t>(format.bytes) == 0;
    if (!whole) {
      continue;
    }
    const Reading reading = read_as(pieces, format, vocab_size);
    if (reading.fits() || (format.bytes > 2 && reading.nearly_fits())) {
      return format;
    }
  }
  return std::nullopt;
}

std::optional<IdFormat> contradicting_format(Bytes bytes, const IdFormat& stated,
                                             std::int64_t vocab_size) {
  const auto pieces = sample(bytes);
  const Reading own = read_as(pieces, stated, vocab_size);
  for (const IdFormat& format : candidates(stated.order)) {
    const auto width = static_cast<std::size_t>(format.bytes);
    if (format == stated || bytes.size() % width != 0 || bytes.size() / width < kLeastIds) {
      continue;
    }
    if (is_better(own, stated, read_as(pieces, format, vocab_size), format, vocab_size)) {
      return format;
    }
  }
  return std::nullopt;
}

}  // namespace sherd::data
