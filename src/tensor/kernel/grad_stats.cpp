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
double power_sum(const T* values, std::int64_t numel) {
  const std::int64_t blocks = stats_blocks(numel);
  const Scratch<double> sums(blocks);
  launch_host(BlockSums<Sum, T>{values, numel, sums.data()}, 0, blocks);
  double total = 0;
  for (std::int64_t i = 0; i < blocks; ++i) {
    total = Sum::merge(total, sums.data()[i]);
  }
  return total;
}

}  // namespace

GradStats grad_stats(const Tensor& grad) {
  require_memory({&grad}, "grad_stats");
  const BlockResults results(grad.numel());
  visit_dtype(grad.dtype(), "grad_stats", [&]<class T>(T) {
    launch_host(results.body(static_cast<const T*>(grad.data<T>())), 0, results.blocks());
  });
  return results.total();
}

double grad_power_sum(const Tensor& grad, NormKind kind) {
  require_memory({&grad}, "grad_power_sum");
  double result = 0;
  visit_dtype(grad.dtype(), "grad_power_sum", [&]<class T>(T) {
    result = visit_norm(
        kind, [&]<class Sum>(Sum) { return power_sum<Sum, T>(grad.data<T>(), grad.numel()); });
  });
  return result;
}

std::int64_t first_nonfinite(const Tensor& values) {
  require_memory({&values}, "first_nonfinite");
  std::int64_t index = -1;
  visit_dtype(values.dtype(), "first_nonfinite", [&]<class T>(T) {
    launch_host(FirstNonfinite<T>{values.data<T>(), values.numel(), &index}, 0,
                stats_blocks(values.numel()));
  });
  return index;
}

}  // namespace sherd::kernel
