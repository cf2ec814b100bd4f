// An operation that the library does not have: kernels, gradient, module, as a family may bring
// them.
#include "layer_norm.hpp"

#include <cmath>

#include "autograd/destination.hpp"
#include "sherd/autograd/function.hpp"
#include "sherd/base/half.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::second_family {
namespace {

using autograd::BackwardContext;
using autograd::Destination;

/// Items are rows; stats holds the mean and 1 / deviation of each.
template <class T>
struct Forward {
  const T* x;
  const T* weight;
  const T* bias;
  T* y;
  float* stats;
  std::int64_t dim;
  float eps;
  static constexpr std::int64_t grain = 8;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* in = x + row * dim;
      float sum = 0;
      float squares = 0;
      for (std::int64_t i = 0; i < dim; ++i) {
        sum += float(in[i]);
      }
      const float mean = sum / float(dim);
      for (std::int64_t i = 0; i < dim; ++i) {
        squares += (float(in[i]) - mean) * (float(in[i]) - mean);
      }
      const float scale = 1.0F / std::sqrt(squares / float(dim) + eps);
      stats[2 * row] = mean;
      stats[2 * row + 1] = scale;
      for (std::int64_t i = 0; i < dim; ++i) {
        const float normal = (float(in[i]) - mean) * scale;
        y[row * dim + i] = T(normal * float(weight[i]) + float(bias[i]));
      }
    }
  }
};

/// Items are rows.
template <class T>
struct InputGradient {
  const T* x;
  const T* weight;
  const T* dy;
  const float* stats;
  T* dx;
  std::int64_t dim;
  static constexpr std::int64_t grain = 8;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const float mean = stats[2 * row];
      const float scale = stats[2 * row + 1];
      float sum = 0;
      float along = 0;
      for (std::int64_t i = 0; i < dim; ++i) {
        const float g = float(dy[row * dim + i]) * float(weight[i]);
        sum += g;
        along += g * (float(x[row * dim + i]) - mean) * scale;
      }
      for (std::int64_t i = 0; i < dim; ++i) {
        const float g = float(dy[row * dim + i]) * float(weight[i]);
        const float normal = (float(x[row * dim + i]) - mean) * scale;
        dx[row * dim + i] = T(scale * (g - (sum + normal * along) / float(dim)));
      }
    }
  }
};

/// Items are columns, summed over the rows in order.
template <class T>
struct ParameterGradients {
  const T* x;
  const T* dy;
  const float* stats;
  float* dweight;
  float* dbias;
  std::int64_t rows;
  std::int64_t dim;
  static constexpr std::int64_t grain = 8;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) {
      float weights = 0;
      float biases = 0;
      for (std::int64_t row = 0; row < rows; ++row) {
        const float g = float(dy[row * dim + i]);
        weights += g * (float(x[row * dim + i]) - stats[2 * row]) * stats[2 * row + 1];
        biases += g;
      }
      dweight[i] = weights;
      dbias[i] = biases;
    }
  }
};

template <class F>
void visit(DType dtype, F&& f) {
  if (dtype == DType::bf16) {
    f(BFloat16{});
  } else {
    f(float{});
  }
}

runtime::Device* device_of(const Tensor& tensor) {
  return tensor.is_on_device() ? tensor.device() : nullptr;
}

/// Inputs x, weight, bias; saved x, weight, stats.
void gradient(BackwardContext& context) {
  const Tensor x = context.saved(0);
  const Tensor weight = context.saved(1);
  const Tensor stats = context.saved(2);
  const Tensor dy = context.grad_output(0).reshape(x.shape());
  constexpr auto kOverwrites = Destination::Kernel::overwrites;
  const Destination dx(context, 0, x.shape(), x.dtype(), kOverwrites);
  const Destination dweight(context, 1, weight.shape(), DType::f32, kOverwrites);
  const Destination dbias(context, 2, weight.shape(), DType::f32, kOverwrites);
  visit(x.dtype(), [&]<class T>(T) {
    const auto* s = stats.data<float>();
    kernel::launch_at(device_of(x), "layer_norm",
                      InputGradient<T>{x.data<T>(), weight.data<T>(), dy.data<T>(), s,
                                       dx.tensor().data<T>(), x.size(1)},
                      x.size(0));
    kernel::launch_at(
        device_of(x), "layer_norm",
        ParameterGradients<T>{x.data<T>(), dy.data<T>(), s, dweight.tensor().data<float>(),
                              dbias.tensor().data<float>(), x.size(0), x.size(1)},
        x.size(1));
  });
  dx.finish();
  dweight.finish();
  dbias.finish();
}

}  // namespace

LayerNorm::LayerNorm(std::int64_t dim, double eps)
    : eps_(eps),
      weight_(register_parameter("weight", {dim}, nn::InitSpec::ones())),
      bias_(register_parameter("bias", {dim}, nn::InitSpec::zeros())) {}

nn::Variable LayerNorm::forward(const nn::Variable& x) {
  const std::int64_t dim = weight_.shape()[0];
  const Tensor rows = x.data().reshape({x.data().numel() / dim, dim});
  const Tensor y = Tensor::empty(rows.shape(), rows.dtype(), rows.where());
  const Tensor stats = Tensor::empty({rows.size(0), 2}, DType::f32, rows.where());
  visit(rows.dtype(), [&]<class T>(T) {
    kernel::launch_at(device_of(rows), "layer_norm",
                      Forward<T>{rows.data<T>(), weight_.data().data<T>(), bias_.data().data<T>(),
                                 y.data<T>(), stats.data<float>(), dim, float(eps_)},
                      rows.size(0));
  });
  return autograd::record_one("layer_norm", {x, weight_, bias_}, y.reshape(x.shape()),
                              {rows, weight_.data(), stats}, gradient);
}

}  // namespace sherd::second_family
