#include "sherd/base/dtype.hpp"

#include <array>
#include <string>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 8> kNames{{{DType::f64, "f64"},
                                                                    {DType::f32, "f32"},
                                                                    {DType::f16, "f16"},
                                                                    {DType::bf16, "bf16"},
                                                                    {DType::i64, "i64"},
                                                                    {DType::i32, "i32"},
                                                                    {DType::u16, "u16"},
                                                                    {DType::u8, "u8"}}};

}  // namespace

std::string_view to_string(DType dtype) noexcept {
  for (const auto& [value, name] : kNames) {
    if (value == dtype) {
      return name;
    }
  }
  return "?";
}

DType parse_dtype(std::string_view name) {
  std::string known;
  for (const auto& [value, text] : kNames) {
    if (text == name) {
      return value;
    }
    known += known.empty() ? "" : ", ";
    known += text;
  }
  throw ConfigError("dtype '" + std::string(name) + "' is unknown. Try: one of " + known);
}

}  // namespace sherd
