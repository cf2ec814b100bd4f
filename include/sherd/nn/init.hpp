#pragma once

#include <cstdint>
#include <string_view>

#include "sherd/tensor/tensor.hpp"

namespace sherd::nn {

/// How a parameter's first values are made.
struct InitSpec {
  enum class Kind : std::uint8_t { zeros, ones, normal, uniform };
  Kind kind = Kind::zeros;
  double mean = 0.0;   ///< normal: mean; uniform: centre
  double scale = 1.0;  ///< normal: standard deviation; uniform: half width

  static InitSpec zeros() { return {}; }
  static InitSpec ones() { return {Kind::ones, 0.0, 1.0}; }
  static InitSpec normal(double stddev) { return {Kind::normal, 0.0, stddev}; }
  static InitSpec uniform(double half_width) { return {Kind::uniform, 0.0, half_width}; }
};

/// Fills `out` (1-D, f32 or f64) with elements first, first+1, ... of parameter `name`. Each value
/// is a function of (seed, name, element index) alone, so any cut over ranks gives the same model.
/// An `out` of a non-floating type takes zeros only. Throws ArgumentError otherwise.
void fill_initial(const InitSpec& spec, std::uint64_t seed, std::string_view name,
                  std::int64_t first, const Tensor& out);

}  // namespace sherd::nn
