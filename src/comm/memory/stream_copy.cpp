#include "comm/memory/stream_copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "comm/memory/pieces.hpp"

namespace sherd::comm {
namespace {

#if defined(__x86_64__)

void stream_piece(std::byte* out, const std::byte* in, std::size_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  const std::size_t to_line = (kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine;
  if (bytes < to_line + kLine) {
    std::memcpy(out, in, bytes);
    return;
  }
  std::memcpy(out, in, to_line);
  std::size_t at = to_line;
  for (; at + kLine <= bytes; at += kLine) {
    const auto* line = reinterpret_cast<const __m128i*>(in + at);
    const __m128i a = _mm_loadu_si128(line);
    const __m128i b = _mm_loadu_si128(line + 1);
    const __m128i c = _mm_loadu_si128(line + 2);
    const __m128i d = _mm_loadu_si128(line + 3);
    auto* target = reinterpret_cast<__m128i*>(out + at);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(out + at, in + at, bytes - at);
  _mm_sfence();
}

#else

void stream_piece(std::byte* out, const std::byte* in, std::size_t bytes) noexcept {
  std::memcpy(out, in, bytes);
}

#endif

}  // namespace

void stream_copy(void* to, const void* from, std::size_t bytes) noexcept {
  for_pieces(bytes, [&](std::size_t first, std::size_t count) {
    stream_piece(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                 count);
  });
}

}  // namespace sherd::comm
