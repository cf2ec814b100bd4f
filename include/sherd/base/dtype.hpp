#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sherd {

/// Element types. Names follow safetensors in lower case: f32, bf16, i64, u8 ...
enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, u16, u8 };

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// "f32", "bf16", ...
[[nodiscard]] std::string_view to_string(DType dtype) noexcept;

/// The inverse of to_string(); throws ConfigError listing the known names.
[[nodiscard]] DType parse_dtype(std::string_view name);

[[nodiscard]] constexpr bool is_floating(DType dtype) noexcept {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace sherd
