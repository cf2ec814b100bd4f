#pragma once

#include "sherd/tensor/kernel/rope.hpp"

namespace sherd::models {

/// Rotation tables made when first needed and only as long as needed (a model may allow far longer
/// sequences than it meets). The tables stay at one address, as backward functions expect.
class RopeCache {
 public:
  RopeCache(std::int64_t head_dim, double theta) : head_dim_(head_dim), theta_(theta) {}

  /// Tables for positions 0 to seq-1, in the precision that turns `data`, and where it is.
  [[nodiscard]] const kernel::RopeTables* get(std::int64_t seq, const Tensor& data);

 private:
  std::int64_t head_dim_;
  double theta_;
  kernel::RopeTables narrow_;  ///< f32
  kernel::RopeTables wide_;    ///< f64
};

}  // namespace sherd::models
