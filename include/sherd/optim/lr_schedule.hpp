#pragma once

#include <cstdint>

namespace sherd::optim {

/// Learning rate of a step. `constant` stays at `peak` after the warm-up; `cosine` falls to
/// `minimum` at `total_steps` by half a cosine. Warm-up is linear: step s of `warmup_steps` (from
/// 0) has peak * (s+1)/warmup_steps.
struct LrSchedule {
  enum class Kind : std::uint8_t { constant, cosine };
  Kind kind = Kind::constant;
  double peak = 1e-3;
  double minimum = 0.0;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;

  /// `step` counts from 0.
  [[nodiscard]] double at(std::int64_t step) const noexcept;
};

}  // namespace sherd::optim
