#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sherd/base/dtype.hpp"

namespace sherd::io {

/// A type that the format knows.
struct ElementType {
  std::string_view name;       ///< "F32", "F8_E4M3"
  unsigned bits = 0;           ///< of one element
  std::optional<DType> dtype;  ///< none: this program cannot compute with it or store it
};

/// nullptr when the format, as far as this program knows it, has none of that name.
[[nodiscard]] const ElementType* find_element_type(std::string_view name);

/// Name of a dtype in safetensors: "F32", "BF16" ...
[[nodiscard]] std::string_view safetensors_name(DType dtype);

}  // namespace sherd::io
