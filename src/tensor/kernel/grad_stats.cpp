#include "tensor/kernel/body/grad_stats.hpp"

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/block_results.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

template <class F>
auto visit_norm(NormKind kind, F&& f) {
  switch (kind) {
    case NormKind::l1:
      return f(Magnitudes{});
    case NormKind::l3:
      return f(Cubes{});
    case NormKind::max:
      break;
  }
  return f(Largest{});
}

template <class Sum, class T>
double power_sum(const Tensor& grad, runtime::Device* device) {
  const std::int64_t blocks = stats_blocks(grad.numel());
  const Tensor sums = Tensor::empty(Shape{blocks}, DType::f64, grad.where());
  const BlockSums<Sum, T> body{grad.data<T>(), grad.numel(), sums.data<double>()};
  launch_at(device, "sherd::grad_power_sum", body, blocks);
  double total = 0;
  const Tensor read = to_host(sums);
  for (const double sum : read.span<double>()) {
    total = Sum::merge(total, sum);
  }
  return total;
}

template <class T>
Tensor look_through(const Tensor& values, runtime::Device* device) {
  const std::int64_t blocks = stats_blocks(values.numel());
  const Tensor found = Tensor::empty(Shape{blocks}, DType::i64, values.where());
  const FirstNonfinite<T> body{values.data<T>(), values.numel(), found.data<std::int64_t>()};
  launch_at(device, "sherd::first_nonfinite", body, blocks);
  return found;
}

}  // namespace

PendingStats begin_grad_stats(const Tensor& grad) {
  require_memory({&grad}, "grad_stats");
  runtime::Device* device = device_of({&grad}, "grad_stats");
  const BlockResults results(grad.numel(), grad.where());
  visit_dtype(grad.dtype(), "grad_stats", [&]<class T>(T) {
    launch_at(device, "sherd::grad_stats", results.body(static_cast<const T*>(grad.data<T>())),
              results.blocks());
  });
  return results.pending();
}

GradStats grad_stats(const Tensor& grad) { return begin_grad_stats(grad).read(); }

double grad_power_sum(const Tensor& grad, NormKind kind) {
  require_memory({&grad}, "grad_power_sum");
  runtime::Device* device = device_of({&grad}, "grad_power_sum");
  double result = 0;
  visit_dtype(grad.dtype(), "grad_power_sum", [&]<class T>(T) {
    result = visit_norm(kind, [&]<class Sum>(Sum) { return power_sum<Sum, T>(grad, device); });
  });
  return result;
}

PendingIndex begin_first_nonfinite(const Tensor& values) {
  require_memory({&values}, "first_nonfinite");
  runtime::Device* device = device_of({&values}, "first_nonfinite");
  PendingIndex index;
  visit_dtype(values.dtype(), "first_nonfinite", [&]<class T>(T) {
    index.found_ = std::make_shared<const HostCopy>(look_through<T>(values, device));
  });
  return index;
}

std::int64_t PendingIndex::read() const {
  for (const std::int64_t index : found_->read().span<std::int64_t>()) {
    if (index >= 0) {
      return index;
    }
  }
  return -1;
}

std::int64_t first_nonfinite(const Tensor& values) { return begin_first_nonfinite(values).read(); }

}  // namespace sherd::kernel
