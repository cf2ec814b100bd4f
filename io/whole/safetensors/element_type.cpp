#include "io/whole/safetensors/element_type.hpp"

#include <algorithm>
#include <array>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::array<ElementType, 22> kTypes{{
    {"F64", 64, DType::f64},          {"F32", 32, DType::f32},
    {"F16", 16, DType::f16},          {"BF16", 16, DType::bf16},
    {"I64", 64, DType::i64},          {"I32", 32, DType::i32},
    {"U16", 16, DType::u16},          {"U8", 8, DType::u8},
    {"I16", 16, std::nullopt},        {"I8", 8, std::nullopt},
    {"U32", 32, std::nullopt},        {"U64", 64, std::nullopt},
    {"BOOL", 8, std::nullopt},        {"C64", 64, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},     {"F8_E5M2", 8, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt}, {"F8_E5M2FNUZ", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},     {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},     {"F4", 4, std::nullopt},
}};

}  // namespace

const ElementType* find_element_type(std::string_view name) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const ElementType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

std::string_view safetensors_name(DType dtype) {
  for (const ElementType& type : kTypes) {
    if (type.dtype == dtype) {
      return type.name;
    }
  }
  throw ArgumentError("dtype has no safetensors name");
}

}  // namespace sherd::io
