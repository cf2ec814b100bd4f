#pragma once

#include <cstdint>

namespace sherd::optim {

struct LossScalerOptions {
  double initial_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  ///< finite steps in a row before the scale grows
  double minimum_scale = 1.0;
};

/// Dynamic loss scale for f16 (Micikevicius et al. 2018, arXiv 1710.03740, section 3.2): the loss
/// is multiplied by scale() so that small gradients survive the narrow type, a step whose gradients
/// overflowed is left out and the scale falls, and after enough good steps it grows. Local and
/// without communication: ranks that pass the same verdicts hold the same scale.
class LossScaler {
 public:
  /// Throws ConfigError unless scales are positive and finite, growth >= 1, 0 < backoff <= 1 and
  /// the interval is positive.
  explicit LossScaler(LossScalerOptions options = {});

  /// What the loss is multiplied with, and gradients divided by.
  [[nodiscard]] double scale() const noexcept { return scale_; }
  /// To be told once a step whether all gradients, on all ranks, were finite. Returns whether the
  /// optimizer should take the step; changes the scale for the next one.
  [[nodiscard]] bool update(bool finite) noexcept;

  /// Finite steps since the scale last changed. With scale() all there is to save.
  [[nodiscard]] std::int64_t good_steps() const noexcept { return good_steps_; }
  /// Takes up saved state. Throws ConfigError unless scale > 0 and finite, and good_steps >= 0.
  void restore(double scale, std::int64_t good_steps);
  [[nodiscard]] const LossScalerOptions& options() const noexcept { return options_; }

 private:
  LossScalerOptions options_;
  double scale_;
  std::int64_t good_steps_ = 0;
};

}  // namespace sherd::optim
