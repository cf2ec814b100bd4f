#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sherd/autograd/function.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::test {

/// Elements of a row that share a scale.
inline constexpr std::int64_t kQuantBlock = 8;
/// The byte that stands for zero.
inline constexpr double kQuantZero = 128.0;

/// A matrix as bytes, (byte - 128) * scale of its block.
struct Quantised {
  Tensor payload;  ///< u8 [rows, cols]
  Tensor scales;   ///< f32 [rows, cols / kQuantBlock]
};

inline Quantised quantise(const Tensor& weight) {
  const Quantised result{Tensor::empty(weight.shape(), DType::u8),
                         Tensor::empty({weight.size(0), weight.size(1) / kQuantBlock}, DType::f32)};
  const auto values = weight.span<float>();
  const auto scales = result.scales.span<float>();
  for (std::size_t block = 0; block < scales.size(); ++block) {
    const auto part = values.subspan(block * kQuantBlock, kQuantBlock);
    float largest = 0;
    for (const float value : part) {
      largest = std::max(largest, std::abs(value));
    }
    scales[block] = largest / 127.0F;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const float steps = largest > 0 ? std::round(part[i] / scales[block]) : 0.0F;
      result.payload.span<std::uint8_t>()[block * kQuantBlock + i] =
          static_cast<std::uint8_t>(steps + static_cast<float>(kQuantZero));
    }
  }
  return result;
}

/// The matrix in the scales' type.
inline Tensor dequantised(const Tensor& payload, const Tensor& scales) {
  const Tensor wide = to_dtype(scales, DType::f64);
  const Tensor weight = Tensor::empty(payload.shape(), DType::f64);
  const auto bytes = payload.span<std::uint8_t>();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    weight.span<double>()[i] = (bytes[i] - kQuantZero) * wide.span<double>()[i / kQuantBlock];
  }
  return to_dtype(weight, scales.dtype());
}

/// The payload's type has no gradients; the scales' gradient is summed over their blocks.
inline autograd::Variable dequantise(const autograd::Variable& payload,
                                     const autograd::Variable& scales) {
  return autograd::record_one(
      "dequantise", {payload, scales}, dequantised(payload.data(), scales.data()), {payload.data()},
      [shape = scales.shape()](autograd::BackwardContext& context) {
        const Tensor bytes = context.saved(0);
        const Tensor dweight = to_dtype(context.grad_output(0), DType::f64);
        const Tensor dscales = Tensor::zeros(shape, DType::f64);
        for (std::size_t i = 0; i < dweight.span<double>().size(); ++i) {
          dscales.span<double>()[i / kQuantBlock] +=
              (bytes.span<std::uint8_t>()[i] - kQuantZero) * dweight.span<double>()[i];
        }
        const autograd::GradTarget target = context.target(1);
        kernel::scale_into(
            1.0, dscales, target.tensor,
            target.accumulate ? kernel::Write::accumulate : kernel::Write::overwrite);
      });
}

/// A layer as users write them for quantised weights: y = x W^T + b with W stored as bytes.
class QuantisedLinear : public nn::Module {
 public:
  /// `in`: a multiple of kQuantBlock. Until set() the weight is zero.
  QuantisedLinear(std::int64_t in, std::int64_t out)
      : payload_(register_parameter("payload", {out, in}, nn::InitSpec::zeros(), DType::u8)),
        scales_(register_parameter("scales", {out, in / kQuantBlock}, nn::InitSpec::zeros())),
        bias_(register_parameter("bias", {out}, nn::InitSpec::zeros())) {}

  [[nodiscard]] autograd::Variable forward(const autograd::Variable& x) override {
    return autograd::linear(x, dequantise(payload_, scales_), bias_);
  }
  /// To be called after materialize().
  void set(const Quantised& weight) {
    payload_.set_data(weight.payload);
    scales_.set_data(to_dtype(weight.scales, scales_.dtype()));
  }

 private:
  autograd::Variable payload_;
  autograd::Variable scales_;
  autograd::Variable bias_;
};

}  // namespace sherd::test
