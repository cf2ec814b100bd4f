#include "io/disk/crc32c.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "io/disk/crc32c_paths.hpp"
#include "io/disk/crc32c_polynomial.hpp"

namespace sherd::io {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kCrc32cPolynomial : 0U);
    }
    table[i] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

std::uint32_t crc32c_by_table(const std::byte* from, std::size_t bytes, std::byte* to,
                              std::uint32_t crc) noexcept {
  if (to != nullptr && bytes > 0) {
    std::memcpy(to, from, bytes);
    from = to;
  }
  return crc32c_portable({from, bytes}, crc);
}

struct PathList {
  std::array<Crc32cPath, 4> paths{};
  std::size_t count = 0;

  void add(bool can, const Crc32cPath& path) {
    if (can) {
      paths[count++] = path;
    }
  }
};

PathList find_paths() {
  PathList list;
#if defined(__x86_64__)
  const bool words = __builtin_cpu_supports("sse4.2") != 0;
  const bool products = words && __builtin_cpu_supports("pclmul") != 0;
  const bool wide = products && __builtin_cpu_supports("avx512f") != 0 &&
                    __builtin_cpu_supports("vpclmulqdq") != 0;
  list.add(wide, {"wide products", &crc32c_by_wide_products});
  list.add(products, {"products", &crc32c_by_products});
  list.add(words, {"words", &crc32c_by_words});
#endif
  list.add(true, {"table", &crc32c_by_table});
  return list;
}

const PathList& path_list() noexcept {
  static const PathList list = find_paths();
  return list;
}

}  // namespace

std::span<const Crc32cPath> crc32c_paths() noexcept {
  return {path_list().paths.data(), path_list().count};
}

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  std::uint32_t state = ~crc;
  for (const std::byte byte : bytes) {
    state = kTable[(state ^ static_cast<std::uint32_t>(byte)) & 0xFFU] ^ (state >> 8);
  }
  return ~state;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  // Narrow products gain by storing past the caches; where nothing is stored, words are faster.
  static const bool narrow = std::string_view(path_list().paths.front().name) == "products";
  return path_list().paths[narrow ? 1 : 0].take(bytes.data(), bytes.size(), nullptr, crc);
}

std::uint32_t copy_crc32c(std::span<const std::byte> from, std::byte* to,
                          std::uint32_t crc) noexcept {
  return path_list().paths.front().take(from.data(), from.size(), to, crc);
}

std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b,
                             std::uint64_t bytes_b) noexcept {
  return multiply_mod_crc32c(power_mod_crc32c(8 * bytes_b), crc_a) ^ crc_b;
}

}  // namespace sherd::io
