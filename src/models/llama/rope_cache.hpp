#pragma once

#include <utility>
#include <vector>

#include "sherd/tensor/kernel/rope.hpp"

namespace sherd::models {

/// Rotation tables made when first needed and only as long as needed (a model may allow far longer
/// sequences than it meets). The tables stay at one address, as backward functions expect.
class RopeCache {
 public:
  /// `frequencies`: one for each pair of a head's elements.
  explicit RopeCache(std::vector<double> frequencies) : frequencies_(std::move(frequencies)) {}

  /// Tables for positions 0 to seq-1, in the precision that turns `data`, and where it is.
  [[nodiscard]] const kernel::RopeTables* get(std::int64_t seq, const Tensor& data);

 private:
  std::vector<double> frequencies_;
  kernel::RopeTables narrow_;  ///< f32
  kernel::RopeTables wide_;    ///< f64
};

}  // namespace sherd::models
