#include "sherd/dtensor/flat_range.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sherd/base/error.hpp"

namespace sherd::dtensor {
namespace {

[[noreturn]] void refuse(const ShardSpec& spec, const std::string& problem) {
  throw ArgumentError(fmt::format("tensor '{}': {}", spec.name, problem));
}

}  // namespace

FlatRange intersect(FlatRange a, FlatRange b) noexcept {
  const std::int64_t first = std::max(a.first, b.first);
  return {first, std::max<std::int64_t>(0, std::min(a.end(), b.end()) - first)};
}

FlatRange even_part(FlatRange range, int parts, int index) noexcept {
  const std::int64_t size = range.numel / parts;
  const std::int64_t longer = range.numel % parts;
  const std::int64_t before = index * size + std::min<std::int64_t>(index, longer);
  return {range.first + before, size + (index < longer ? 1 : 0)};
}

void check_consistent(const ShardSpec& spec, const Tensor& local) {
  const std::int64_t total = spec.global_shape.numel();
  if (spec.offset < 0 || spec.numel < 0 || spec.numel > total || spec.offset > total - spec.numel) {
    refuse(spec, fmt::format("{} elements from {} on lie outside the global shape {}", spec.numel,
                             spec.offset, spec.global_shape.to_string()));
  }
  if (spec.placement == Placement::replicated && spec.numel != total) {
    refuse(spec,
           fmt::format("is replicated but this rank holds {} of {} elements", spec.numel, total));
  }
  if (spec.numel == 0 && !local.defined()) {
    return;
  }
  if (!local.defined() || local.is_meta()) {
    refuse(spec, "has no memory");
  }
  if (local.dtype() != spec.dtype) {
    refuse(spec, fmt::format("local memory is {}, the spec says {}", to_string(local.dtype()),
                             to_string(spec.dtype)));
  }
  if (local.numel() != spec.numel) {
    refuse(spec, fmt::format("local memory has {} elements, the spec says {}", local.numel(),
                             spec.numel));
  }
}

}  // namespace sherd::dtensor
