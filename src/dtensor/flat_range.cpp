#include "sherd/dtensor/flat_range.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sherd/base/error.hpp"

namespace sherd::dtensor {
namespace {

[[noreturn]] void refuse(const ShardSpec& spec, const std::string& problem) {
  throw ArgumentError(fmt::format("tensor '{}': {}", spec.name, problem));
}

void check_block(const ShardSpec& spec) {
  const Block& block = *spec.block;
  const std::vector<std::int64_t>& extents = spec.global_shape.extents();
  bool good = block.start.size() == extents.size() && block.count.size() == extents.size();
  for (std::size_t d = 0; good && d < extents.size(); ++d) {
    good = block.start[d] >= 0 && block.count[d] >= 0 && block.count[d] <= extents[d] &&
           block.start[d] <= extents[d] - block.count[d];
  }
  if (!good) {
    refuse(spec, fmt::format("its block (start {}, count {}) lies outside the global shape {}",
                             fmt::join(block.start, "x"), fmt::join(block.count, "x"),
                             spec.global_shape.to_string()));
  }
  if (spec.offset != 0 || spec.numel != block.numel()) {
    refuse(spec, fmt::format("holds a block of {} elements, but offset is {} and numel {}",
                             block.numel(), spec.offset, spec.numel));
  }
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
  if (spec.block) {
    check_block(spec);
  }
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
