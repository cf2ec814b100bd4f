#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sherd/dtensor/block.hpp"
#include "sherd/dtensor/flat_range.hpp"

/// Which stretches of a stored piece go where in memory, when both hold some elements of one
/// row-major tensor. Pure arithmetic in elements; the work is proportional to the stretches found.
namespace sherd::io {

/// Some elements of a tensor, row-major where they lie: a block, or, without one, a flat range.
struct Region {
  dtensor::FlatRange flat;
  std::optional<dtensor::Block> block = std::nullopt;

  [[nodiscard]] std::int64_t numel() const { return block ? block->numel() : flat.numel; }
};

/// A stretch that is contiguous in both regions; positions count from each region's beginning.
struct CopyRun {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t numel = 0;
  friend bool operator==(const CopyRun&, const CopyRun&) = default;
};

/// Visits what elements `part` of region `from` share with region `to`, in ascending order of
/// CopyRun::from; adjacent stretches are joined. `part` counts from the beginning of `from`;
/// `extents` are the whole tensor's (none for 0-d).
void for_each_run(std::span<const std::int64_t> extents, const Region& from,
                  dtensor::FlatRange part, const Region& to,
                  const std::function<void(const CopyRun&)>& visit);

/// The same as a list.
[[nodiscard]] std::vector<CopyRun> copy_runs(std::span<const std::int64_t> extents,
                                             const Region& from, dtensor::FlatRange part,
                                             const Region& to);

/// Whether there is any.
[[nodiscard]] bool share_elements(std::span<const std::int64_t> extents, const Region& from,
                                  dtensor::FlatRange part, const Region& to);

}  // namespace sherd::io
