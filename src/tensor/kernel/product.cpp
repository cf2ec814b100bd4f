#include "tensor/kernel/product.hpp"

#include "sherd/base/half.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/product_panels.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {
namespace {

template <class From, class To>
void convert_range(const From* from, To* to, std::int64_t count) {
  launch_host(Convert<From, To>{from, to}, 0, count);
}

/// Without AVX-512, oneDNN's products of a transposed a lose a third of their rate when both
/// operands have rows of 2 KiB, which all fall on few lines of the cache: 57 against 79 GFLOP/s at
/// 512x512x1024 on Zen 4. Rows of 4 KiB and more run in another kernel, which gains less than the
/// copies cost.
constexpr std::int64_t kCollidingRow = 512;
constexpr std::int64_t kPad = 16;

bool rows_collide(const onednn::Product& product) {
  return product.trans_a && !product.trans_b && product.m == kCollidingRow &&
         product.n == kCollidingRow && !onednn::has_avx512();
}

/// Calls f with a value of the element type of an operand or result.
template <class F>
void visit_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bf16:
      return f(BFloat16{});
    case DType::f16:
      return f(Float16{});
    default:
      return f(float{});
  }
}

/// An operand in f32 with padded rows: the caller's own memory where that is what it is.
class Operand {
 public:
  Operand(DType dtype, const void* data, std::int64_t rows, std::int64_t cols, std::int64_t pad)
      : borrowed_(dtype == DType::f32 && pad == 0 ? static_cast<const float*>(data) : nullptr),
        copy_(borrowed_ != nullptr ? 0 : rows * (cols + pad)) {
    if (borrowed_ == nullptr) {
      visit_type(dtype, [&]<class T>(T) { fill(static_cast<const T*>(data), rows, cols, pad); });
    }
  }
  [[nodiscard]] const float* data() const {
    return borrowed_ != nullptr ? borrowed_ : copy_.data();
  }

 private:
  template <class T>
  void fill(const T* from, std::int64_t rows, std::int64_t cols, std::int64_t pad) const {
    if (pad == 0) {
      convert_range(from, copy_.data(), rows * cols);
      return;
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      convert_range(from + r * cols, copy_.data() + r * (cols + pad), cols);
    }
  }

  const float* borrowed_;
  Scratch<float> copy_;
};

void multiply_in_f32(onednn::Product p, const void* a, const void* b, void* c) {
  const std::int64_t pad = rows_collide(p) ? kPad : 0;
  p.row_a = (p.trans_a ? p.m : p.k) + pad;
  p.row_b = (p.trans_b ? p.k : p.n) + pad;
  const Operand wide_a(p.in, a, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, pad);
  const Operand wide_b(p.in, b, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, pad);
  const DType out = p.out;
  p.in = DType::f32;
  p.out = DType::f32;
  if (out == DType::f32) {
    run_in_panels(p, wide_a.data(), wide_b.data(), c);
    return;
  }
  const Scratch<float> wide_c(p.m * p.n);
  visit_type(out, [&]<class T>(T) {
    auto* narrow_c = static_cast<T*>(c);
    if (p.accumulate) {
      convert_range(static_cast<const T*>(narrow_c), wide_c.data(), p.m * p.n);
    }
    run_in_panels(p, wide_a.data(), wide_b.data(), wide_c.data());
    convert_range(static_cast<const float*>(wide_c.data()), narrow_c, p.m * p.n);
  });
}

}  // namespace

bool is_native(DType in, DType out) noexcept {
  if (in == DType::f32) {
    return out == DType::f32;
  }
  return in == DType::bf16 && out != DType::f16 && onednn::has_bf16();
}

void multiply(const onednn::Product& product, const void* a, const void* b, void* c) {
  if (is_native(product.in, product.out) && !rows_collide(product)) {
    run_in_panels(product, a, b, c);
  } else {
    multiply_in_f32(product, a, b, c);
  }
}

}  // namespace sherd::kernel
