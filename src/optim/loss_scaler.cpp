#include "sherd/optim/loss_scaler.hpp"

#include <algorithm>
#include <cmath>

#include "sherd/base/check.hpp"

namespace sherd::optim {
namespace {

bool is_scale(double value) { return std::isfinite(value) && value > 0.0; }

}  // namespace

LossScaler::LossScaler(LossScalerOptions options)
    : options_(options), scale_(options.initial_scale) {
  validate(is_scale(options.initial_scale) && is_scale(options.minimum_scale),
           "loss scale: initial and minimum scale must be positive and finite");
  validate(std::isfinite(options.growth_factor) && options.growth_factor >= 1.0,
           "loss scale: the growth factor must be at least 1");
  validate(options.backoff_factor > 0.0 && options.backoff_factor <= 1.0,
           "loss scale: the backoff factor must be above 0 and at most 1");
  validate(options.growth_interval > 0, "loss scale: the growth interval must be positive");
}

bool LossScaler::update(bool finite) noexcept {
  if (!finite) {
    scale_ = std::max(scale_ * options_.backoff_factor, std::min(scale_, options_.minimum_scale));
    good_steps_ = 0;
    return false;
  }
  if (++good_steps_ >= options_.growth_interval) {
    const double grown = scale_ * options_.growth_factor;
    scale_ = std::isfinite(grown) ? grown : scale_;
    good_steps_ = 0;
  }
  return true;
}

void LossScaler::restore(double scale, std::int64_t good_steps) {
  validate(is_scale(scale), "loss scale: the saved scale is not positive and finite");
  validate(good_steps >= 0, "loss scale: the saved number of good steps is negative");
  scale_ = scale;
  good_steps_ = good_steps;
}

}  // namespace sherd::optim
