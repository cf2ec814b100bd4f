#include <algorithm>
#include <cstring>
#include <memory>

#include "sherd/tensor/kernel/optimizer.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

constexpr std::int64_t kChunk = 4096;

/// A chunk is rounded into a buffer before it goes to the front: there it only covers elements that
/// have been read.
template <class T>
void narrow(const float* from, std::byte* to, std::int64_t count) {
  T buffer[kChunk];
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t width = std::min(kChunk, count - first);
    launch_host(Convert<float, T>{from + first, buffer}, 0, width);
    std::memcpy(to, buffer, static_cast<std::size_t>(width) * sizeof(T));
    to += static_cast<std::size_t>(width) * sizeof(T);
  }
}

}  // namespace

Tensor narrow_in_place(const Tensor& from, DType to) {
  require_memory({&from}, "narrow_in_place");
  expect(from.dtype() == DType::f32 && from.shape().rank() == 1,
         "narrow_in_place is for 1-D tensors of f32");
  if (to == DType::f32) {
    return from;
  }
  expect(to == DType::bf16 || to == DType::f16, "narrow_in_place to bf16, f16 or f32");
  if (to == DType::bf16) {
    narrow<BFloat16>(from.data<float>(), from.raw(), from.numel());
  } else {
    narrow<Float16>(from.data<float>(), from.raw(), from.numel());
  }
  const auto memory = Storage::borrow(from.raw(), from.nbytes(), std::make_shared<Tensor>(from));
  return Tensor::view(memory, 0, from.shape(), to);
}

}  // namespace sherd::kernel
