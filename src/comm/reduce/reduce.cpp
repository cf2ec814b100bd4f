#include "comm/reduce/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "comm/memory/pieces.hpp"
#include "comm/memory/stream_copy.hpp"
#include "comm/reduce/reduce_kernels.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr std::size_t kBlockBytes = 4096;

/// Where the inputs are from a byte on.
std::vector<const void*> moved(std::span<const void* const> inputs, std::size_t bytes) {
  std::vector<const void*> at(inputs.begin(), inputs.end());
  for (const void*& input : at) {
    input = static_cast<const std::byte*>(input) + bytes;
  }
  return at;
}

/// Block by block through memory that stays in the first cache, from there past the caches.
void reduce_streaming(ReduceKernel kernel, std::byte* out, std::vector<const void*> inputs,
                      std::size_t bytes, std::size_t width) {
  alignas(64) std::byte block[kBlockBytes];
  for (std::size_t begin = 0; begin < bytes; begin += kBlockBytes) {
    const std::size_t n = std::min(kBlockBytes, bytes - begin);
    kernel(block, inputs.data(), inputs.size(), n / width);
    stream_copy(out + begin, block, n);
    for (const void*& input : inputs) {
      input = static_cast<const std::byte*>(input) + n;
    }
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
  for_pieces(count * width, [&](std::size_t first, std::size_t bytes) {
    std::byte* to = static_cast<std::byte*>(out) + first;
    if (destination == Destination::memory) {
      reduce_streaming(kernel, to, moved(inputs, first), bytes, width);
    } else if (first == 0 && bytes == count * width) {
      kernel(out, inputs.data(), inputs.size(), count);
    } else {
      kernel(to, moved(inputs, first).data(), inputs.size(), bytes / width);
    }
  });
}

}  // namespace sherd::comm
