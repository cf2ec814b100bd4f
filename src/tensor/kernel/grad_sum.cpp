#include "tensor/kernel/body/grad_sum.hpp"

#include <vector>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/block_results.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {
namespace {

/// A table of the host in memory of the device.
template <class T>
Scratch<T> uploaded(runtime::Device& device, const std::vector<T>& table) {
  Scratch<T> copy(static_cast<std::int64_t>(table.size()), MemoryKind::device);
  device.compute_stream().upload(copy.data(), table.data(), table.size() * sizeof(T));
  return copy;
}

/// The sum by elements, then the statistics: what a device does.
template <class Sum, class Source, class T>
void sum_on_device(runtime::Device& device, const std::vector<Source>& sources, Sum body,
                   const BlockStats<T>& stats) {
  const Scratch<Source> table = uploaded(device, sources);
  body.sources = table.data();
  launch_at(&device, "sherd::grad_sum", body, stats.numel);
  launch_at(&device, "sherd::grad_stats", stats, stats_blocks(stats.numel));
}

void require_one_place(std::span<const Tensor> sources, const Tensor& dst, const char* kernel) {
  for (const Tensor& source : sources) {
    static_cast<void>(device_of({&source, &dst}, kernel));
  }
}

template <class P>
PendingStats sum(std::span<const Tensor> sources, const Tensor& dst, bool accumulate, Path path) {
  std::vector<const P*> pointers;
  pointers.reserve(sources.size());
  for (const Tensor& source : sources) {
    pointers.push_back(source.data<P>());
  }
  const BlockResults results(dst.numel(), dst.where());
  const BlockStats<P> stats = results.body(static_cast<const P*>(dst.data<P>()));
  const auto count = static_cast<std::int64_t>(pointers.size());
  if (runtime::Device* device = device_of({&dst}, "sum_sources"); device != nullptr) {
    sum_on_device(*device, pointers, ElementSum<P>{nullptr, count, dst.data<P>(), accumulate},
                  stats);
  } else {
    const GradSum<P> body{pointers.data(), count, dst.data<P>(), accumulate, stats};
    launch("sherd::grad_sum", body, results.blocks(), nullptr, path);
  }
  return results.pending();
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

PendingStats begin_sum_sources(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
                               Path path) {
  require_memory({&dst}, "sum_sources: dst");
  expect(dst.dtype() == DType::f32 || dst.dtype() == DType::f64,
         "sum_sources: sums are taken in f32 or f64. Try: sum_rounded_sources()");
  for (const Tensor& source : sources) {
    require_memory({&source}, "sum_sources");
    expect(source.numel() == dst.numel() && source.dtype() == dst.dtype(),
           "sum_sources: all must have one length and dtype");
  }
  require_one_place(sources, dst, "sum_sources");
  return dst.dtype() == DType::f64 ? sum<double>(sources, dst, accumulate, path)
                                   : sum<float>(sources, dst, accumulate, path);
}

GradStats sum_sources(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
                      Path path) {
  return begin_sum_sources(sources, dst, accumulate, path).read();
}

PendingStats begin_sum_rounded_sources(std::span<const Tensor> sources, DType rounded,
                                       const Tensor& dst, bool accumulate) {
  require_memory({&dst}, "sum_rounded_sources: dst");
  expect(is_narrow(rounded), "sum_rounded_sources: sums are rounded to f32, bf16 or f16");
  const std::vector<NarrowSource> narrow = narrow_sources(sources, dst.numel());
  require_one_place(sources, dst, "sum_rounded_sources");
  runtime::Device* device = device_of({&dst}, "sum_rounded_sources");
  const BlockResults results(dst.numel(), dst.where());
  const auto count = static_cast<std::int64_t>(narrow.size());
  visit_dtype(dst.dtype(), "sum_rounded_sources", [&]<class D>(D) {
    const BlockStats<D> stats = results.body(static_cast<const D*>(dst.data<D>()));
    if (device != nullptr) {
      const ElementRoundedSum<D> body{nullptr, count, rounded, dst.data<D>(), accumulate};
      sum_on_device(*device, narrow, body, stats);
    } else {
      const RoundedSum<D> body{narrow.data(), count, rounded, dst.data<D>(), accumulate, stats};
      launch_host(body, 0, results.blocks());
    }
  });
  return results.pending();
}

GradStats sum_rounded_sources(std::span<const Tensor> sources, DType rounded, const Tensor& dst,
                              bool accumulate) {
  return begin_sum_rounded_sources(sources, rounded, dst, accumulate).read();
}

}  // namespace sherd::kernel
