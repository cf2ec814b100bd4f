// CRC-32C by carry-less products: many blocks are folded over a distance at once, without tables.
//
// A block of 16 bytes is a polynomial of degree 127, first bit first. What lies D bits before
// another is worth x^D of it, so a block may be added to the one D bits on as
//   (first half) * (x^(D + 64) mod P) + (second half) * (x^D mod P),
// 96 bits each, and the remainder of the whole stays what it was. Both operands of a product have
// their bits reversed, whose product comes out one bit too low (x^1), and a constant of 32 bits in
// the low half of a word counts x^32: hence x^(D + 31) and x^(D - 33) below.
#include <algorithm>
#include <cstring>

#include "io/disk/crc32c_paths.hpp"
#include "io/disk/crc32c_polynomial.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace sherd::io {
namespace {

struct FoldBy {
  std::uint64_t first_half;
  std::uint64_t second_half;
};

constexpr FoldBy fold_by(std::uint64_t bits) {
  return {power_mod_crc32c(bits + 31), power_mod_crc32c(bits - 33)};
}

constexpr std::size_t kNarrow = 8 * 16;  // bytes a turn: what hides a product's latency
constexpr std::size_t kWide = 4 * 64;
constexpr FoldBy kByNarrow = fold_by(8 * kNarrow);
constexpr FoldBy kByWide = fold_by(8 * kWide);
/// Shorter runs cost more to begin and to end than the products save.
constexpr std::size_t kLeastBytes = 1024;
/// From here on a copy goes past the caches; a shorter one is cheaper through them.
constexpr std::size_t kLeastStreamed = std::size_t{32} << 10;
constexpr std::size_t kLine = 64;

/// How many bytes precede the first cache line that begins at or after `to`; none without a `to`.
std::size_t bytes_before_line(const std::byte* to) noexcept {
  return to == nullptr ? 0 : (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
}

__attribute__((target("pclmul,sse4.2"))) inline __m128i folded(__m128i sum, __m128i by,
                                                               __m128i block) noexcept {
  return _mm_xor_si128(block, _mm_xor_si128(_mm_clmulepi64_si128(sum, by, 0x00),
                                            _mm_clmulepi64_si128(sum, by, 0x11)));
}

__attribute__((target("sse4.2"))) inline void put(std::byte* to, __m128i block,
                                                  bool past_caches) noexcept {
  auto* const place = reinterpret_cast<__m128i*>(to);
  if (past_caches) {
    _mm_stream_si128(place, block);
  } else if (to != nullptr) {
    _mm_storeu_si128(place, block);
  }
}

/// `bytes` is a positive multiple of kNarrow; what remains of all of them is left in `sums`.
__attribute__((target("pclmul,sse4.2"))) void fold_narrow(const std::byte* from, std::size_t bytes,
                                                          std::byte* to, std::uint32_t state,
                                                          std::byte* sums) noexcept {
  const __m128i by = _mm_set_epi64x(static_cast<std::int64_t>(kByNarrow.second_half),
                                    static_cast<std::int64_t>(kByNarrow.first_half));
  const bool past_caches = to != nullptr && bytes >= kLeastStreamed;
  __m128i sum[8];
  for (std::size_t i = 0; i < 8; ++i) {
    sum[i] = _mm_setzero_si128();
  }
  for (std::size_t at = 0; at < bytes; at += kNarrow) {
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t place = at + 16 * i;
      __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + place));
      put(to == nullptr ? nullptr : to + place, block, past_caches);
      if (place == 0) {
        block = _mm_xor_si128(block, _mm_cvtsi32_si128(static_cast<int>(state)));
      }
      sum[i] = folded(sum[i], by, block);
    }
  }
  if (past_caches) {
    _mm_sfence();
  }
  std::memcpy(sums, sum, kNarrow);
}

#define SHERD_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))

SHERD_WIDE inline __m512i folded_wide(__m512i sum, __m512i by, __m512i block) noexcept {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(sum, by, 0x00),
                                   _mm512_clmulepi64_epi128(sum, by, 0x11), block, kXorOfThree);
}

SHERD_WIDE inline void put_wide(std::byte* to, __m512i block, bool past_caches) noexcept {
  if (past_caches) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), block);
  } else if (to != nullptr) {
    _mm512_storeu_si512(to, block);
  }
}

/// As fold_narrow, of a multiple of kWide.
SHERD_WIDE void fold_wide(const std::byte* from, std::size_t bytes, std::byte* to,
                          std::uint32_t state, std::byte* sums) noexcept {
  const auto one = static_cast<std::int64_t>(kByWide.first_half);
  const auto other = static_cast<std::int64_t>(kByWide.second_half);
  const __m512i by = _mm512_set4_epi64(other, one, other, one);
  const bool past_caches = to != nullptr && bytes >= kLeastStreamed;
  __m512i first = _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, state);
  __m512i sum[4];
  for (std::size_t i = 0; i < 4; ++i) {
    sum[i] = _mm512_setzero_si512();
  }
  for (std::size_t at = 0; at < bytes; at += kWide) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t place = at + kLine * i;
      __m512i block = _mm512_loadu_si512(from + place);
      put_wide(to == nullptr ? nullptr : to + place, block, past_caches);
      if (i == 0) {
        block = _mm512_xor_si512(block, first);
        first = _mm512_setzero_si512();
      }
      sum[i] = folded_wide(sum[i], by, block);
    }
  }
  if (past_caches) {
    _mm_sfence();
  }
  std::memcpy(sums, sum, kWide);
}

using Fold = void (*)(const std::byte*, std::size_t, std::byte*, std::uint32_t,
                      std::byte*) noexcept;

/// Turns of `turn` bytes by `fold`, the rest by words. The sums are a message of the same remainder
/// as all that was folded; the crc32 instruction takes it.
std::uint32_t by_folding(Fold fold, std::size_t turn, const std::byte* from, std::size_t bytes,
                         std::byte* to, std::uint32_t crc) noexcept {
  if (bytes < kLeastBytes) {
    return crc32c_by_words(from, bytes, to, crc);
  }
  const auto after = [to](std::size_t at) { return to == nullptr ? nullptr : to + at; };
  const std::size_t head = bytes_before_line(to);
  const std::size_t body = (bytes - head) / turn * turn;
  std::uint32_t state = ~crc32c_by_words(from, head, to, crc);
  alignas(kLine) std::byte sums[kWide];
  fold(from + head, body, after(head), state, sums);
  // A register of 0 before the sums is a CRC of ~0 to continue from.
  const std::uint32_t folded_crc = crc32c_by_words(sums, turn, nullptr, ~std::uint32_t{0});
  const std::size_t done = head + body;
  return crc32c_by_words(from + done, bytes - done, after(done), folded_crc);
}

}  // namespace

std::uint32_t crc32c_by_products(const std::byte* from, std::size_t bytes, std::byte* to,
                                 std::uint32_t crc) noexcept {
  return by_folding(&fold_narrow, kNarrow, from, bytes, to, crc);
}

std::uint32_t crc32c_by_wide_products(const std::byte* from, std::size_t bytes, std::byte* to,
                                      std::uint32_t crc) noexcept {
  return by_folding(&fold_wide, kWide, from, bytes, to, crc);
}

}  // namespace sherd::io
#endif
