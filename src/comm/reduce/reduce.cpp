#include "comm/reduce/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "comm/memory/stream_copy.hpp"
#include "comm/reduce/reduce_kernels.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr std::size_t kBlockBytes = 4096;

/// Block by block through memory that stays in the first cache, from there past the caches.
void reduce_streaming(ReduceKernel kernel, std::byte* out, std::span<const void* const> inputs,
                      std::size_t count, std::size_t width) {
  alignas(64) std::byte block[kBlockBytes];
  std::vector<const void*> at(inputs.size());
  const std::size_t bytes = count * width;
  for (std::size_t begin = 0; begin < bytes; begin += kBlockBytes) {
    const std::size_t n = std::min(kBlockBytes, bytes - begin);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      at[i] = static_cast<const std::byte*>(inputs[i]) + begin;
    }
    kernel(block, at.data(), at.size(), n / width);
    stream_copy(out + begin, block, n);
  }
}

}  // namespace

void expect_reducible(DType dtype) {
  if (dtype == DType::u16) {
    throw ArgumentError("elements of type u16 cannot be reduced. Try: i32");
  }
}

void reduce(void* out, std::span<const void* const> inputs, std::size_t count, DType dtype,
            ReduceOp op, Destination destination) {
  expect_reducible(dtype);
  const std::size_t width = size_of(dtype);
  if (inputs.size() == 1) {
    if (count != 0 && out != inputs[0]) {
      std::memcpy(out, inputs[0], count * width);
    }
    return;
  }
  const ReduceKernel kernel = find_reduce_kernel(dtype, op);
  if (destination == Destination::memory) {
    reduce_streaming(kernel, static_cast<std::byte*>(out), inputs, count, width);
  } else {
    kernel(out, inputs.data(), inputs.size(), count);
  }
}

}  // namespace sherd::comm
