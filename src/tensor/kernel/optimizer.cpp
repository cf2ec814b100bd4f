#include "sherd/tensor/kernel/optimizer.hpp"

#include <cmath>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/optimizer.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

void require_state(const Tensor& param, std::initializer_list<const Tensor*> like,
                   const Tensor& compute) {
  require_memory({&param}, "optimizer step: param");
  expect(param.dtype() == DType::f32 || param.dtype() == DType::f64,
         "optimizer step: parameters are updated in f32 or f64. Try: a master copy");
  for (const Tensor* tensor : like) {
    require_memory({tensor}, "optimizer step");
    expect(tensor->numel() == param.numel() && tensor->dtype() == param.dtype(),
           "optimizer step: gradient and state must have the parameters' dtype and number");
  }
  if (compute.defined()) {
    require_memory({&compute}, "optimizer step: compute");
    expect(compute.numel() == param.numel() && is_floating(compute.dtype()),
           "optimizer step: the compute copy must be floating, one element for each parameter");
  }
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
  require_state(param, {&grad, &exp_avg, &exp_avg_sq}, compute);
  expect(params.step >= 1, "adamw_step: steps count from 1");
  const auto step = static_cast<double>(params.step);
  const double correction1 = 1.0 - std::pow(params.beta1, step);
  const double correction2 = 1.0 - std::pow(params.beta2, step);
  visit_types(param, compute, [&]<class P, class C>(P, C* copy) {
    const AdamW<P, C> body{param.data<P>(),
                           grad.data<P>(),
                           exp_avg.data<P>(),
                           exp_avg_sq.data<P>(),
                           copy,
                           static_cast<P>(params.grad_scale),
                           static_cast<P>(1.0 - params.learning_rate * params.weight_decay),
                           static_cast<P>(params.beta1),
                           static_cast<P>(1.0 - params.beta1),
                           static_cast<P>(params.beta2),
                           static_cast<P>(1.0 - params.beta2),
                           static_cast<P>(params.learning_rate / correction1),
                           static_cast<P>(1.0 / std::sqrt(correction2)),
                           static_cast<P>(params.epsilon)};
    launch("sherd::adamw_step", body, param.numel(), path);
  });
}

void sgd_step(const SgdParams& params, const Tensor& param, const Tensor& grad,
              const Tensor& momentum_buffer, const Tensor& compute) {
  const bool plain = !momentum_buffer.defined();
  require_state(param, {&grad, plain ? &grad : &momentum_buffer}, compute);
  visit_types(param, compute, [&]<class P, class C>(P, C* copy) {
    const Sgd<P, C> body{param.data<P>(),
                         grad.data<P>(),
                         plain ? nullptr : momentum_buffer.data<P>(),
                         copy,
                         static_cast<P>(params.learning_rate),
                         static_cast<P>(params.first_step ? 0.0 : params.momentum),
                         static_cast<P>(params.weight_decay),
                         static_cast<P>(params.grad_scale)};
    launch_host(body, 0, param.numel());
  });
}

}  // namespace sherd::kernel
