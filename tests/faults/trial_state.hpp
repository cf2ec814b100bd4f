#pragma once

#include <stdexcept>
#include <string>

#include "support/checkpoint_world.hpp"

/// The small state that fault tests save: its bytes follow from a seed, which it carries along.
namespace sherd::faults {

inline dtensor::StateDict trial_state(const comm::Ranks& ranks) {
  using io::test::add_tensor;
  using io::test::Cut;
  dtensor::StateDict state;
  add_tensor(state, ranks, "model.embed.weight", {97, 17}, DType::f32, Cut::even);
  add_tensor(state, ranks, "model.norm.weight", {5}, DType::bf16, Cut::even);
  add_tensor(state, ranks, "optimizer.embed.weight.exp_avg", {97, 17}, DType::f32, Cut::even);
  add_tensor(state, ranks, "optimizer.step", {1}, DType::i64, Cut::replicated);
  state.per_rank["random"] = std::vector<std::byte>(32, static_cast<std::byte>(ranks.rank() + 1));
  state.common.emplace("seed", "0");
  return state;
}

inline void set_seed(dtensor::StateDict& state, std::uint64_t seed) {
  io::test::fill(state, seed);
  state.common["seed"] = std::to_string(seed);
}

/// Throws when a single byte is not of the seed that the state carries.
inline std::uint64_t seed_of(const dtensor::StateDict& state) {
  const std::uint64_t seed = std::stoull(state.common.at("seed"));
  for (const auto& [key, tensor] : state.tensors) {
    if (io::test::differing_bytes(tensor, seed) != 0) {
      throw std::logic_error(key + " is not of seed " + std::to_string(seed));
    }
  }
  return seed;
}

}  // namespace sherd::faults
