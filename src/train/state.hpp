#pragma once

#include <cstdint>
#include <string>

#include "sherd/dtensor/state_dict.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/optim/optimizer.hpp"

namespace sherd::train {

/// Everything a checkpoint holds: "model.*" and "optimizer.<name>.<slot>" tensors as views of the
/// live shards, and under `common` the texts "trainer", "config", "data".
[[nodiscard]] dtensor::StateDict make_state(fsdp::ShardedModel& model,
                                            const optim::Optimizer& optimizer);

/// What "trainer" holds: how far the run is.
struct Progress {
  std::int64_t step = 0;             ///< steps done; also the data position, in global batches
  std::int64_t optimizer_steps = 0;  ///< the same but for steps fp16 left out
  double loss_scale = 0.0;           ///< of fp16, with the good steps since it changed; 0: none
  std::int64_t good_steps = 0;
  std::string optimizer;
  std::int64_t global_batch_size = 0;
  std::int64_t sequence_length = 0;
  std::uint64_t seed = 0;
};
[[nodiscard]] std::string to_json(const Progress& progress);
[[nodiscard]] Progress parse_progress(const std::string& text);

/// Throws ConfigError when a resumed run would not be the continuation of the saved one: another
/// optimizer, or a batch or sequence length that gives the data position another meaning.
void check_continues(const Progress& saved, const Progress& now);

}  // namespace sherd::train
