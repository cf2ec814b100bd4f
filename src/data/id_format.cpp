#include "data/id_format.hpp"

#include <fmt/format.h>

#include <cstring>

namespace sherd::data {
namespace {

inline std::uint8_t swapped(std::uint8_t value) { return value; }
inline std::uint16_t swapped(std::uint16_t value) { return __builtin_bswap16(value); }
inline std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }
inline std::uint64_t swapped(std::uint64_t value) { return __builtin_bswap64(value); }

template <class T, bool big>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return big ? swapped(value) : value;
}

template <class T, bool big>
std::size_t widen(const std::byte* from, std::uint64_t limit, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T value = load<T, big>(from + i * sizeof(T));
    if (value >= limit) {
      return i;
    }
    out[i] = static_cast<std::int32_t>(value);
  }
  return out.size();
}

template <class T>
std::size_t widen(const std::byte* from, bool big, std::uint64_t limit,
                  std::span<std::int32_t> out) {
  return big ? widen<T, true>(from, limit, out) : widen<T, false>(from, limit, out);
}

template <class T>
std::uint64_t load_either(const std::byte* from, bool big) {
  return big ? load<T, true>(from) : load<T, false>(from);
}

bool is_big(const IdFormat& format) { return format.order == IdFormat::ByteOrder::big; }

}  // namespace

std::string to_string(const IdFormat& format) {
  return fmt::format("{}-bit {}-endian ids", 8 * format.bytes, is_big(format) ? "big" : "little");
}

std::uint64_t id_at(const std::byte* from, const IdFormat& format) {
  switch (format.bytes) {
    case 1:
      return load<std::uint8_t, false>(from);
    case 2:
      return load_either<std::uint16_t>(from, is_big(format));
    case 4:
      return load_either<std::uint32_t>(from, is_big(format));
    default:
      return load_either<std::uint64_t>(from, is_big(format));
  }
}

std::size_t widen_ids(const std::byte* from, const IdFormat& format, std::uint64_t limit,
                      std::span<std::int32_t> out) {
  switch (format.bytes) {
    case 1:
      return widen<std::uint8_t>(from, false, limit, out);
    case 2:
      return widen<std::uint16_t>(from, is_big(format), limit, out);
    case 4:
      return widen<std::uint32_t>(from, is_big(format), limit, out);
    default:
      return widen<std::uint64_t>(from, is_big(format), limit, out);
  }
}

}  // namespace sherd::data
