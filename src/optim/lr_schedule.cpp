#include "sherd/optim/lr_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sherd::optim {

double LrSchedule::at(std::int64_t step) const noexcept {
  if (step < warmup_steps) {
    return peak * static_cast<double>(std::max<std::int64_t>(step, 0) + 1) /
           static_cast<double>(warmup_steps);
  }
  if (kind == Kind::constant) {
    return peak;
  }
  if (step >= total_steps) {
    return minimum;
  }
  const double progress =
      static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
  return minimum + 0.5 * (peak - minimum) * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace sherd::optim
