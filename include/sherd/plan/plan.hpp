#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sherd/config/train_config.hpp"
#include "sherd/fsdp/sharding_plan.hpp"
#include "sherd/plan/activations.hpp"
#include "sherd/runtime/topology.hpp"

/// What a run would hold and move, before anything is launched. docs/plan.md derives the figures.
namespace sherd::plan {

/// A launch that need not exist.
struct PlanShape {
  int nodes = 1;
  int ranks_per_node = 1;
  bool shared_memory = true;  ///< the ranks of a node share memory (the shm backend)
  int threads = 1;            ///< of each rank
  [[nodiscard]] int ranks() const noexcept { return nodes * ranks_per_node; }
};

/// What the command line changes of a configuration.
struct PlanChanges {
  std::optional<std::string> strategy = {};
  std::optional<std::string> dtype = {};                  ///< f32, bf16, f16
  std::optional<std::string> activation_checkpoint = {};  ///< off, reentrant, non_reentrant
  std::optional<std::int64_t> sequence_length = {};
  std::optional<std::int64_t> micro_batch = {};  ///< sequences
  std::optional<std::int64_t> accumulate = {};   ///< micro-batches per step
  std::optional<std::string> accumulation = {};  ///< reduce_each, defer_all_reduce, no_sync
};

/// A model and how to train it, as far as a plan needs them.
struct PlanSubject {
  std::string name;  ///< where the model came from, for the first line
  config::TrainConfig config;
  std::int64_t micro_batches = 1;  ///< per step, on the rank with most sequences
  DType compute_dtype = DType::f32;
  std::int64_t micro_batch_sequences = 1;  ///< of the largest micro-batch
};

/// A configuration for a launch of that shape. Throws ConfigError for values that make no sense.
[[nodiscard]] PlanSubject plan_subject(config::TrainConfig config, const PlanChanges& changes,
                                       const PlanShape& shape);
/// A configuration with a preset's model and otherwise default values; 2048 tokens or as many as
/// the model allows, one sequence per rank and step. Throws ConfigError for an unknown name.
[[nodiscard]] config::TrainConfig preset_plan_config(const std::string& preset);
/// The same for a Hugging Face config.json of a Llama-family model, or a folder that holds one, as
/// init_from.
[[nodiscard]] config::TrainConfig model_plan_config(const std::filesystem::path& model);

struct StepPlan {
  PlanSubject subject;
  PlanShape shape;
  fsdp::FullyShardOptions options;
  fsdp::ShardingPlan sharding;
  fsdp::ShardingPlan replicated;   ///< the same under NO_SHARD
  ActivationPlan activations;      ///< as configured
  ActivationPlan kept;             ///< without activation checkpointing
  ActivationPlan checkpointed[2];  ///< by autograd::Recompute
  /// Where the processor has no bf16 products; equals activations.peak elsewhere.
  std::size_t activations_through_f32 = 0;

  /// Most bytes a rank holds at once: everything that rests, and activations.
  [[nodiscard]] std::size_t bytes_per_rank() const;
  [[nodiscard]] std::size_t replicated_bytes_per_rank() const;
};

/// Local; touches shapes only. Throws ConfigError for what training would refuse.
[[nodiscard]] StepPlan plan_step(PlanSubject subject, const PlanShape& shape);

/// "80GiB", "80GB", "512M", "1073741824". Throws ConfigError.
[[nodiscard]] std::size_t parse_memory(const std::string& text);

/// Whether a plan fits, in one line; where it does not, with what would help.
struct Verdict {
  bool fits = true;
  std::string text;
};
[[nodiscard]] Verdict check_memory(const StepPlan& plan, std::size_t memory);

/// The whole plan as a table, and as one JSON object.
[[nodiscard]] std::string plan_text(const StepPlan& plan);
[[nodiscard]] std::string plan_json(const StepPlan& plan, std::optional<std::size_t> memory);

/// What the run would hold and move, as text: groups, bytes per rank by kind, bytes moved a step.
/// Local; allocates no parameters.
[[nodiscard]] std::string plan_text(const runtime::Topology& topology,
                                    const config::TrainConfig& config);

}  // namespace sherd::plan
