// Gradients that were rounded to a narrower dtype in place: a view of them, and the way back.
#include "fsdp/gradient_sum.hpp"

#include <algorithm>
#include <memory>

namespace sherd::fsdp {

Tensor narrowed_view(const Tensor& wide, DType narrow) {
  auto storage =
      Storage::borrow(wide.raw(), wide.nbytes(), std::make_shared<Tensor>(wide), wide.where());
  return Tensor::view(std::move(storage), 0, Shape{wide.numel()}, narrow);
}

void widen_in_place(const Tensor& wide, DType narrow) {
  const std::int64_t chunk = wide.is_on_device() ? std::int64_t{1} << 20 : 4096;
  const Tensor from = narrowed_view(wide, narrow);
  const Tensor copy = Tensor::empty(Shape{chunk}, narrow, wide.where());
  // From the end: what is written then lies behind everything still to be read, but for the chunk
  // itself, which is copied first.
  for (std::int64_t end = wide.numel(); end > 0;) {
    const std::int64_t count = std::min(chunk, end);
    end -= count;
    convert(from.slice(end, count), copy.slice(0, count));
    convert(copy.slice(0, count), wide.slice(end, count));
  }
}

}  // namespace sherd::fsdp
