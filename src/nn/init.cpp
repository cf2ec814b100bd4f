#include "sherd/nn/init.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/philox.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/fnv1a.hpp"

namespace sherd::nn {
namespace {

using Key = std::array<std::uint32_t, 2>;
using Values = std::array<double, 4>;

constexpr std::uint64_t mix(std::uint64_t x) noexcept {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// One stream of random numbers for each (seed, name).
Key stream_key(std::uint64_t seed, std::string_view name) noexcept {
  const std::uint64_t key = mix(mix(seed + 0x9E3779B97F4A7C15U) ^ fnv1a(name));
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

/// In (0, 1), never 0.
double unit(std::uint32_t word) noexcept { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

/// Two normal numbers of two uniform ones (Box and Muller 1958).
void box_muller(std::uint32_t a, std::uint32_t b, double& first, double& second) noexcept {
  const double radius = std::sqrt(-2.0 * std::log(unit(a)));
  const double angle = 2.0 * std::numbers::pi * unit(b);
  first = radius * std::cos(angle);
  second = radius * std::sin(angle);
}

/// Elements 4*block to 4*block + 3 of the stream.
Values random_values(const InitSpec& spec, Key key, std::uint64_t block) noexcept {
  const PhiloxBlock words = philox(
      {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}, key);
  Values values;
  if (spec.kind == InitSpec::Kind::normal) {
    box_muller(words[0], words[1], values[0], values[1]);
    box_muller(words[2], words[3], values[2], values[3]);
  } else {
    std::transform(words.begin(), words.end(), values.begin(),
                   [](std::uint32_t word) { return 2.0 * unit(word) - 1.0; });
  }
  for (double& value : values) {
    value = spec.mean + spec.scale * value;
  }
  return values;
}

template <class T>
void fill(const InitSpec& spec, Key key, std::int64_t first, std::span<T> out) {
  if (spec.kind == InitSpec::Kind::zeros || spec.kind == InitSpec::Kind::ones) {
    std::fill(out.begin(), out.end(), spec.kind == InitSpec::Kind::ones ? T{1} : T{0});
    return;
  }
  auto lane = static_cast<std::size_t>(first % 4);
  auto block = static_cast<std::uint64_t>(first / 4);
  for (std::size_t done = 0; done < out.size(); ++block) {
    const Values values = random_values(spec, key, block);
    for (; lane < values.size() && done < out.size(); ++lane, ++done) {
      out[done] = static_cast<T>(values[lane]);
    }
    lane = 0;
  }
}

}  // namespace

void fill_initial(const InitSpec& spec, std::uint64_t seed, std::string_view name,
                  std::int64_t first, const Tensor& out) {
  expect(first >= 0, "fill_initial: the first element's index is negative");
  if (!is_floating(out.dtype())) {
    expect(spec.kind == InitSpec::Kind::zeros,
           "fill_initial: a tensor of a non-floating type can only start as zeros");
    out.fill_zero();
    return;
  }
  const Key key = stream_key(seed, name);
  if (out.dtype() == DType::f64) {
    fill(spec, key, first, out.span<double>());
  } else {
    fill(spec, key, first, out.span<float>());
  }
}

}  // namespace sherd::nn
