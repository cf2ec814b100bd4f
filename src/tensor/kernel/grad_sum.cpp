#include "tensor/kernel/body/grad_sum.hpp"

#include <vector>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/block_results.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

template <class P>
GradStats sum(std::span<const Tensor> sources, const Tensor& dst, bool accumulate, Path path) {
  std::vector<const P*> pointers;
  pointers.reserve(sources.size());
  for (const Tensor& source : sources) {
    pointers.push_back(source.data<P>());
  }
  const BlockResults results(dst.numel());
  const GradSum<P> body{pointers.data(), static_cast<std::int64_t>(pointers.size()), dst.data<P>(),
                        accumulate, results.body(static_cast<const P*>(dst.data<P>()))};
  launch("sherd::grad_sum", body, results.blocks(), path);
  return results.total();
}

[[nodiscard]] bool is_narrow(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

std::vector<NarrowSource> narrow_sources(std::span<const Tensor> sources, std::int64_t numel) {
  std::vector<NarrowSource> result;
  result.reserve(sources.size());
  for (const Tensor& source : sources) {
    require_memory({&source}, "sum_rounded_sources");
    expect(source.numel() == numel && is_narrow(source.dtype()),
           "sum_rounded_sources: sources must be f32, bf16 or f16 of dst's length");
    result.push_back({source.raw(), source.dtype()});
  }
  return result;
}

}  // namespace

GradStats sum_sources(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
                      Path path) {
  require_memory({&dst}, "sum_sources: dst");
  expect(dst.dtype() == DType::f32 || dst.dtype() == DType::f64,
         "sum_sources: sums are taken in f32 or f64. Try: sum_rounded_sources()");
  for (const Tensor& source : sources) {
    require_memory({&source}, "sum_sources");
    expect(source.numel() == dst.numel() && source.dtype() == dst.dtype(),
           "sum_sources: all must have one length and dtype");
  }
  return dst.dtype() == DType::f64 ? sum<double>(sources, dst, accumulate, path)
                                   : sum<float>(sources, dst, accumulate, path);
}

GradStats sum_rounded_sources(std::span<const Tensor> sources, DType rounded, const Tensor& dst,
                              bool accumulate) {
  require_memory({&dst}, "sum_rounded_sources: dst");
  expect(is_narrow(rounded), "sum_rounded_sources: sums are rounded to f32, bf16 or f16");
  const std::vector<NarrowSource> narrow = narrow_sources(sources, dst.numel());
  const BlockResults results(dst.numel());
  visit_dtype(dst.dtype(), "sum_rounded_sources", [&]<class D>(D) {
    const RoundedSum<D> body{narrow.data(), static_cast<std::int64_t>(narrow.size()),
                             rounded,       dst.data<D>(),
                             accumulate,    results.body(static_cast<const D*>(dst.data<D>()))};
    launch_host(body, 0, results.blocks());
  });
  return results.total();
}

}  // namespace sherd::kernel
