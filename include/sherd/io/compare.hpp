#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sherd/io/inspect.hpp"

namespace sherd::io {

/// What the elements of a tensor are like. Numbers are of the finite elements, 0 when there is
/// none.
struct TensorStatistics {
  std::int64_t numel = 0;
  std::int64_t nan = 0;
  std::int64_t infinite = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
};

/// Reads the whole tensor, a few MiB at a time. Throws IoError when it is not there. Local.
[[nodiscard]] TensorStatistics tensor_statistics(const CheckpointReader& checkpoint,
                                                 const std::string& key);

/// How a tensor of two checkpoints differs.
struct TensorDifference {
  std::string key;
  std::string kind_a;  ///< "f32 [64, 64]"
  std::string kind_b;
  std::int64_t differing = 0;  ///< elements, when shape and dtype are equal
  double max_abs = 0;          ///< of their differences; infinite when one of them is not finite
};

struct CheckpointDifference {
  std::vector<std::string> only_in_a;
  std::vector<std::string> only_in_b;
  std::vector<TensorDifference> tensors;  ///< those that differ
  std::vector<std::string> texts;         ///< common entries that differ or that one lacks
  std::int64_t equal_tensors = 0;

  /// Whether all tensors are there in both and equal; texts do not count.
  [[nodiscard]] bool equal() const noexcept {
    return only_in_a.empty() && only_in_b.empty() && tensors.empty();
  }
};

struct CompareOptions {
  /// Elements differ when their difference is larger, or just one is NaN. nullopt: when any bit
  /// differs.
  std::optional<double> tolerance = std::nullopt;
  /// Looks only at tensors whose key this returns true for. Empty: all.
  std::function<bool(const std::string& key)> select = {};
};

/// Compares tensor by tensor, a few MiB at a time, however either was cut. A tensor is found by any
/// of its names. Throws IoError when either cannot be read. Local.
[[nodiscard]] CheckpointDifference compare_checkpoints(const CheckpointReader& a,
                                                       const CheckpointReader& b,
                                                       const CompareOptions& options = {});

}  // namespace sherd::io
