#include "sherd/tensor/kernel/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/body/optimizer.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {
namespace {

void require_state(const Tensor& param, const Tensor& grad,
                   std::initializer_list<const Tensor*> state, const Tensor& compute) {
  require_memory({&param, &grad}, "optimizer step: param and grad");
  expect(param.dtype() == DType::f32 || param.dtype() == DType::f64,
         "optimizer step: parameters are updated in f32 or f64. Try: a master copy");
  expect(grad.numel() == param.numel() && is_floating(grad.dtype()) &&
             size_of(grad.dtype()) <= size_of(param.dtype()),
         "optimizer step: the gradient must be floating, no wider than the parameters, and have "
         "one element for each");
  for (const Tensor* tensor : state) {
    require_memory({tensor}, "optimizer step");
    expect(tensor->numel() == param.numel() && tensor->dtype() == param.dtype(),
           "optimizer step: state must have the parameters' dtype and number");
  }
  if (compute.defined()) {
    require_memory({&compute}, "optimizer step: compute");
    expect(compute.numel() == param.numel() && is_floating(compute.dtype()),
           "optimizer step: the compute copy must be floating, one element for each parameter");
  }
}

/// Elements widened at a time: what stays in a core's cache, and what fills a GPU.
constexpr std::int64_t kHostChunk = 4096;
constexpr std::int64_t kDeviceChunk = std::int64_t{1} << 24;

/// Widens chunks of a gradient on the host, on the threads of the team.
template <class P, class G, class F>
void for_each_chunk(const G* from, std::int64_t numel, const F& f) {
  constexpr std::int64_t kTogether = 16;
  const std::int64_t chunks = (numel + kHostChunk - 1) / kHostChunk;
  runtime::for_blocks((chunks + kTogether - 1) / kTogether, [&](std::int64_t block) {
    P wide[kHostChunk];
    const std::int64_t begin = block * kTogether * kHostChunk;
    const std::int64_t end = std::min(begin + kTogether * kHostChunk, numel);
    for (std::int64_t first = begin; first < end; first += kHostChunk) {
      const std::int64_t count = std::min(kHostChunk, end - first);
      run_items(Convert<G, P>{from + first, wide}, 0, count);
      f(static_cast<const P*>(wide), first, count);
    }
  });
}

/// Calls f(gradient, first element, count) for ranges that make up the whole: for all at once where
/// the gradient is of the masters' type P, otherwise for chunks that have been widened, on the host
/// by several threads.
template <class P, class F>
void for_each_range(const Tensor& grad, runtime::Device* device, F&& f) {
  visit_dtype(grad.dtype(), "optimizer step", [&]<class G>(G) {
    const G* const from = grad.data<G>();
    if constexpr (std::is_same_v<G, P>) {
      f(from, std::int64_t{0}, grad.numel());
    } else if constexpr (sizeof(G) < sizeof(P)) {
      if (device == nullptr) {
        return for_each_chunk<P>(from, grad.numel(), f);
      }
      const Scratch<P> wide(std::min(kDeviceChunk, grad.numel()), device);
      for (std::int64_t first = 0; first < grad.numel(); first += kDeviceChunk) {
        const std::int64_t count = std::min(kDeviceChunk, grad.numel() - first);
        launch_at(device, "sherd::convert", Convert<G, P>{from + first, wide.data()}, count);
        f(static_cast<const P*>(wide.data()), first, count);
      }
    }
  });
}

/// Calls f with the master type and a pointer to the compute copy (null where there is none).
template <class F>
void visit_types(const Tensor& param, const Tensor& compute, F&& f) {
  visit_dtype(param.dtype(), "optimizer step", [&]<class P>(P) {
    if constexpr (sizeof(P) > 2) {
      if (!compute.defined()) {
        return f(P{}, static_cast<P*>(nullptr));
      }
      switch (compute.dtype()) {
        case DType::f16:
          return f(P{}, compute.data<Float16>());
        case DType::bf16:
          return f(P{}, compute.data<BFloat16>());
        case DType::f32:
          return f(P{}, compute.data<float>());
        default:
          return f(P{}, compute.data<double>());
      }
    }
  });
}

}  // namespace

void adamw_step(const AdamWParams& params, const Tensor& param, const Tensor& grad,
                const Tensor& exp_avg, const Tensor& exp_avg_sq, const Tensor& compute, Path path) {
  require_state(param, grad, {&exp_avg, &exp_avg_sq}, compute);
  expect(params.step >= 1, "adamw_step: steps count from 1");
  const auto step = static_cast<double>(params.step);
  const double correction1 = 1.0 - std::pow(params.beta1, step);
  const double correction2 = 1.0 - std::pow(params.beta2, step);
  runtime::Device* device =
      device_of({&param, &grad, &exp_avg, &exp_avg_sq, &compute}, "adamw_step");
  visit_types(param, compute, [&]<class P, class C>(P, C* copy) {
    for_each_range<P>(grad, device, [&](const P* gradient, std::int64_t first, std::int64_t count) {
      const AdamW<P, C> body{param.data<P>() + first,
                             gradient,
                             exp_avg.data<P>() + first,
                             exp_avg_sq.data<P>() + first,
                             copy != nullptr ? copy + first : nullptr,
                             static_cast<P>(params.grad_scale),
                             static_cast<P>(1.0 - params.learning_rate * params.weight_decay),
                             static_cast<P>(params.beta1),
                             static_cast<P>(1.0 - params.beta1),
                             static_cast<P>(params.beta2),
                             static_cast<P>(1.0 - params.beta2),
                             static_cast<P>(params.learning_rate / correction1),
                             static_cast<P>(1.0 / std::sqrt(correction2)),
                             static_cast<P>(params.epsilon)};
      launch("sherd::adamw_step", body, count, device, path);
    });
  });
}

void sgd_step(const SgdParams& params, const Tensor& param, const Tensor& grad,
              const Tensor& momentum_buffer, const Tensor& compute) {
  const bool plain = !momentum_buffer.defined();
  require_state(param, grad, {plain ? &param : &momentum_buffer}, compute);
  runtime::Device* device = device_of({&param, &grad, &momentum_buffer, &compute}, "sgd_step");
  visit_types(param, compute, [&]<class P, class C>(P, C* copy) {
    for_each_range<P>(grad, device, [&](const P* gradient, std::int64_t first, std::int64_t count) {
      const Sgd<P, C> body{param.data<P>() + first,
                           gradient,
                           plain ? nullptr : momentum_buffer.data<P>() + first,
                           copy != nullptr ? copy + first : nullptr,
                           static_cast<P>(params.learning_rate),
                           static_cast<P>(params.first_step ? 0.0 : params.momentum),
                           static_cast<P>(params.weight_decay),
                           static_cast<P>(params.grad_scale)};
      launch_at(device, "sherd::sgd_step", body, count);
    });
  });
}

}  // namespace sherd::kernel
