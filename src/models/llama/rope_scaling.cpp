#include "models/llama/rope_scaling.hpp"

#include <fmt/format.h>

#include <numbers>

#include "sherd/base/check.hpp"
#include "sherd/tensor/kernel/rope.hpp"

namespace sherd::models {
namespace {

/// Waves that fit the original length often enough are kept, those that do not fit it are stretched
/// by the factor, and those between are blended, so that no frequency jumps.
double scaled(double frequency, const RopeScaling& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double waves = static_cast<double>(scaling.original_max_position_embeddings) / wavelength;
  if (waves < scaling.low_freq_factor) {
    return frequency / scaling.factor;
  }
  if (waves > scaling.high_freq_factor) {
    return frequency;
  }
  const double kept =
      (waves - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0 - kept) * frequency / scaling.factor + kept * frequency;
}

}  // namespace

void check_rope_scaling(const RopeScaling& scaling) {
  validate(scaling.factor >= 1.0,
           fmt::format("model.rope_scaling.factor is {} (it stretches wavelengths). Try: 8.0, or "
                       "1.0 for none",
                       scaling.factor));
  validate(scaling.low_freq_factor > 0.0 && scaling.high_freq_factor > scaling.low_freq_factor,
           fmt::format("model.rope_scaling.low_freq_factor is {} and high_freq_factor "
                       "{} (between the two frequencies are blended). Try: 1.0 and 4.0",
                       scaling.low_freq_factor, scaling.high_freq_factor));
  validate(scaling.original_max_position_embeddings > 0,
           fmt::format("model.rope_scaling.original_max_position_embeddings is {} (the longest "
                       "sequence before scaling). Try: 8192",
                       scaling.original_max_position_embeddings));
}

std::vector<double> scaled_frequencies(std::int64_t head_dim, double theta,
                                       const RopeScaling& scaling) {
  std::vector<double> frequencies = kernel::rope_frequencies(head_dim, theta);
  if (scaling.given()) {
    for (double& frequency : frequencies) {
      frequency = scaled(frequency, scaling);
    }
  }
  return frequencies;
}

}  // namespace sherd::models
