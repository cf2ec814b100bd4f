// Any element type as f64, for statistics and differences.
#include "io/tools/to_doubles.hpp"

#include <algorithm>

namespace sherd::io {
namespace {

template <class T>
void widen(const Tensor& tensor, std::vector<double>& out) {
  const auto elements = tensor.span<T>();
  std::transform(elements.begin(), elements.end(), out.begin(),
                 [](T value) { return static_cast<double>(value); });
}

}  // namespace

void to_doubles(const Tensor& tensor, std::vector<double>& out) {
  out.resize(static_cast<std::size_t>(tensor.numel()));
  switch (tensor.dtype()) {
    case DType::f64:
      return widen<double>(tensor, out);
    case DType::f32:
      return widen<float>(tensor, out);
    case DType::f16:
    case DType::bf16:
      return widen<float>(to_dtype(tensor, DType::f32), out);
    case DType::i64:
      return widen<std::int64_t>(tensor, out);
    case DType::i32:
      return widen<std::int32_t>(tensor, out);
    case DType::u16:
      return widen<std::uint16_t>(tensor, out);
    case DType::u8:
      return widen<std::uint8_t>(tensor, out);
  }
}

}  // namespace sherd::io
