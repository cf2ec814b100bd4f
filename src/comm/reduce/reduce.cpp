#include "comm/reduce/reduce.hpp"

#include <cstring>
#include <string>

#include "comm/reduce/reduce_kernels.hpp"
#include "sherd/base/check.hpp"

namespace sherd::comm {

void reduce(void* out, std::span<const void* const> inputs, std::size_t count, DType dtype,
            ReduceOp op) {
  const ReduceKernel kernel = find_reduce_kernel(dtype, op);
  if (kernel == nullptr) {
    throw ArgumentError("elements of type " + std::string(to_string(dtype)) +
                        " cannot be reduced. Try: f32, f64, f16, bf16, i32, i64 or u8");
  }
  if (inputs.size() == 1) {
    if (count != 0 && out != inputs[0]) {
      std::memcpy(out, inputs[0], count * size_of(dtype));
    }
    return;
  }
  kernel(out, inputs.data(), inputs.size(), count);
}

}  // namespace sherd::comm
