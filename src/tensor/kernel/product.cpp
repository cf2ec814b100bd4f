#include "tensor/kernel/product.hpp"

#include "sherd/base/half.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {
namespace {

template <class From, class To>
void convert_range(const From* from, To* to, std::int64_t count) {
  launch_host(Convert<From, To>{from, to}, 0, count);
}

/// A bf16 or f32 operand as f32.
class Widened {
 public:
  Widened(DType dtype, const void* data, std::int64_t count)
      : wide_(dtype == DType::f32 ? 0 : count), data_(static_cast<const float*>(data)) {
    if (dtype != DType::f32) {
      convert_range(static_cast<const BFloat16*>(data), wide_.data(), count);
      data_ = wide_.data();
    }
  }
  [[nodiscard]] const float* data() const { return data_; }

 private:
  Scratch<float> wide_;
  const float* data_;
};

void multiply_in_f32(onednn::Product product, const void* a, const void* b, void* c) {
  const Widened wide_a(product.in, a, product.m * product.k);
  const Widened wide_b(product.in, b, product.k * product.n);
  const DType out = product.out;
  product.in = DType::f32;
  product.out = DType::f32;
  if (out == DType::f32) {
    onednn::run(product, wide_a.data(), wide_b.data(), c);
    return;
  }
  const std::int64_t count = product.m * product.n;
  const Scratch<float> wide_c(count);
  auto* narrow_c = static_cast<BFloat16*>(c);
  if (product.accumulate) {
    convert_range<BFloat16, float>(narrow_c, wide_c.data(), count);
  }
  onednn::run(product, wide_a.data(), wide_b.data(), wide_c.data());
  convert_range<float, BFloat16>(wide_c.data(), narrow_c, count);
}

}  // namespace

bool is_native(DType in, DType out) noexcept {
  return in == DType::f32 ? out == DType::f32 : onednn::has_bf16();
}

void multiply(const onednn::Product& product, const void* a, const void* b, void* c) {
  if (is_native(product.in, product.out)) {
    onednn::run(product, a, b, c);
  } else {
    multiply_in_f32(product, a, b, c);
  }
}

}  // namespace sherd::kernel
