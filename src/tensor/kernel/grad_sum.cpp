#include "tensor/kernel/body/grad_sum.hpp"

#include <vector>

#include "sherd/tensor/kernel/optimizer.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

template <class P>
GradStats run(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
              std::int64_t numel, Path path) {
  std::vector<const P*> pointers;
  pointers.reserve(sources.size());
  for (const Tensor& source : sources) {
    pointers.push_back(source.data<P>());
  }
  const std::int64_t blocks = (numel + kStatsBlock - 1) / kStatsBlock;
  const Tensor squares = Tensor::empty(Shape{blocks}, DType::f64);
  const Tensor nonfinite = Tensor::empty(Shape{blocks}, DType::i64);
  const GradSum<P> body{pointers.data(),
                        static_cast<std::int64_t>(pointers.size()),
                        dst.defined() ? dst.data<P>() : nullptr,
                        accumulate,
                        numel,
                        squares.data<double>(),
                        nonfinite.data<std::int64_t>()};
  launch("sherd::grad_sum", body, blocks, path);
  GradStats stats;
  for (std::int64_t i = 0; i < blocks; ++i) {
    stats.sum_of_squares += squares.data<double>()[i];
    stats.nonfinite += nonfinite.data<std::int64_t>()[i];
  }
  return stats;
}

GradStats run(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
              const Tensor& like, Path path) {
  expect(like.dtype() == DType::f32 || like.dtype() == DType::f64,
         "gradient sums and statistics are taken in f32 or f64. Try: to_dtype()");
  for (const Tensor& source : sources) {
    require_memory({&source}, "sum_sources");
    expect(source.numel() == like.numel() && source.dtype() == like.dtype(),
           "sum_sources: all must have one length and dtype");
  }
  return like.dtype() == DType::f64 ? run<double>(sources, dst, accumulate, like.numel(), path)
                                    : run<float>(sources, dst, accumulate, like.numel(), path);
}

}  // namespace

GradStats sum_sources(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
                      Path path) {
  require_memory({&dst}, "sum_sources: dst");
  return run(sources, dst, accumulate, dst, path);
}

GradStats grad_stats(const Tensor& grad) {
  require_memory({&grad}, "grad_stats");
  return run({&grad, 1}, Tensor(), false, grad, Path::host);
}

}  // namespace sherd::kernel
