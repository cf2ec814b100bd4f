#include <algorithm>
#include <cstring>
#include <memory>

#include "sherd/tensor/kernel/optimizer.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {
namespace {

/// Elements of a chunk: what stays in a core's cache, and what fills a GPU.
constexpr std::int64_t kHostChunk = 4096;
constexpr std::int64_t kDeviceChunk = std::int64_t{1} << 22;

/// A chunk is rounded into a buffer before it goes to the front: there it only covers elements that
/// have been read.
template <class T>
void narrow(const float* from, std::byte* to, std::int64_t count, runtime::Device* device) {
  const std::int64_t chunk = device != nullptr ? kDeviceChunk : kHostChunk;
  T on_stack[kHostChunk];
  const Scratch<T> on_device(device != nullptr ? std::min(chunk, count) : 0, device);
  T* const buffer = device != nullptr ? on_device.data() : on_stack;
  for (std::int64_t first = 0; first < count; first += chunk) {
    const std::int64_t width = std::min(chunk, count - first);
    const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(T);
    launch_at(device, "sherd::convert", Convert<float, T>{from + first, buffer}, width);
    if (device != nullptr) {
      device->compute_stream().copy(to, buffer, bytes);
    } else {
      std::memcpy(to, buffer, bytes);
    }
    to += bytes;
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
  runtime::Device* device = device_of({&from}, "narrow_in_place");
  if (to == DType::bf16) {
    narrow<BFloat16>(from.data<float>(), from.raw(), from.numel(), device);
  } else {
    narrow<Float16>(from.data<float>(), from.raw(), from.numel(), device);
  }
  const auto memory =
      Storage::borrow(from.raw(), from.nbytes(), std::make_shared<Tensor>(from), from.where());
  return Tensor::view(memory, 0, from.shape(), to);
}

}  // namespace sherd::kernel
