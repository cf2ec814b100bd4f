#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sherd/comm/mesh_comms.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/models/family.hpp"
#include "sherd/optim/lr_schedule.hpp"

/// The configuration of a training run with every value resolved and checked. docs/config.md lists
/// the YAML keys; members carry the same names and the defaults written here.
namespace sherd::config {

struct ModelConfig {
  std::filesystem::path init_from;  ///< Hugging Face folder; empty: initial values from the seed
  std::string preset;               ///< "" when init_from or the fields were given
  models::ModelSpec spec;           ///< family and sizes, wherever they came from
};

struct DataConfig {
  enum class Order : std::uint8_t { sequential, shuffled };
  enum class ByteOrder : std::uint8_t { little, big };
  std::vector<std::filesystem::path> tokens;  ///< token files; exactly one of tokens, text is set
  std::vector<std::filesystem::path> text;    ///< files or folders, read as bytes
  int token_bytes = 0;  ///< of an id in files without a header: 2, 4 or 8; 0: nobody says, 2 if
                        ///< that holds the vocabulary
  std::optional<ByteOrder> token_byte_order;  ///< in files without a header; default: little
  std::int64_t sequence_length = 256;
  Order order = Order::sequential;
  bool allow_change = false;  ///< resume although the data files are not those of the checkpoint
};

struct TrainingConfig {
  std::int64_t steps = 0;              ///< required
  std::int64_t global_batch_size = 8;  ///< sequences per optimizer step, over all ranks
  std::int64_t micro_batch_size = 4;   ///< sequences per rank and forward, at most
  double max_grad_norm = 1.0;          ///< 0: no clipping
  fsdp::NormType norm_type = fsdp::NormType::two;
  std::uint64_t seed = 0;
};

struct OptimizerConfig {
  enum class Name : std::uint8_t { adamw, sgd };
  enum class Decay : std::uint8_t { all, matrices };
  Name name = Name::adamw;
  double learning_rate = 1e-3;
  std::array<double, 2> betas = {0.9, 0.95};
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double momentum = 0.9;     ///< sgd only
  Decay decay = Decay::all;  ///< matrices: none on parameters of fewer than two dimensions
  optim::LrSchedule::Kind schedule = optim::LrSchedule::Kind::constant;
  std::int64_t warmup_steps = 0;
  double min_learning_rate = 0.0;
};

struct FsdpConfig {
  std::optional<int> world_size;  ///< checked against the launch
  std::optional<int> local_rank;  ///< must exist on the node; MPI numbers the ranks
  /// What keys say to the engine directly. fsdp_options() adds what follows from others: the seed,
  /// and the type that mixed_precision and fp16 mean.
  fsdp::FullyShardOptions options;
  bool shard_optimizer_state = true;
  bool mixed_precision = false;  ///< compute in bf16; parameters, gradients, optimizer in f32
  bool fp16 = false;             ///< with mixed_precision: f16 and a loss scaler, not bf16
  double initial_loss_scale = 65536.0;  ///< fp16 only
  bool activation_checkpointing = false;
  bool use_reentrant = false;
  std::string device = "cpu";
  bool offload_params = false;
  bool offload_optimizer_state = false;
  int model_parallel_size = 1;
  std::int64_t checkpoint_interval = 1000;  ///< steps; 0: only at the end and when stopped
  std::filesystem::path checkpoint_dir = "checkpoints";
  std::string comm_backend = "auto";
  comm::Progress comm_progress = comm::Progress::polling;
};

struct CheckpointConfig {
  enum class Resume : std::uint8_t { automatic, never, must, older };
  enum class OnFailure : std::uint8_t { warn, stop };
  enum class Staging : std::uint8_t { lazy, eager };
  int keep_last = 3;
  std::int64_t keep_every = 0;  ///< steps divisible by it are kept for good; 0: none
  io::Layout layout = io::Layout::per_node;
  io::WriteBackend backend = io::WriteBackend::automatic;
  Staging staging = Staging::lazy;
  std::int64_t staging_bytes_per_node = io::kDefaultStagingBytes;
  Resume resume = Resume::automatic;
  /// Another run's step folder or checkpoint directory, read where there is nothing of this run's
  /// to resume from; empty: none.
  std::filesystem::path load_from;
  io::Overlap overlap = io::Overlap::wait;
  bool verify_after_save = false;
  OnFailure on_failure = OnFailure::warn;  ///< of a save that is not the last
};

struct LoggingConfig {
  std::filesystem::path directory = "run";
  std::int64_t interval = 1;  ///< steps between console lines; metrics.jsonl has every step
};

struct TrainConfig {
  ModelConfig model;
  DataConfig data;
  TrainingConfig training;
  OptimizerConfig optimizer;
  FsdpConfig fsdp_config;
  CheckpointConfig checkpoint;
  LoggingConfig logging;

  /// What the user is told once before the first step (keys without effect here).
  std::vector<std::string> notices;
  /// The whole configuration as YAML with the origin of every value as a comment.
  std::string resolved_yaml;
  /// The same without origins as JSON, sizes of the model under "model": for checkpoints.
  std::string resolved_json;

  [[nodiscard]] optim::LrSchedule schedule() const;
};

/// Reads `file` and applies `overrides` ("training.steps=20"). Local. Throws ConfigError whose
/// message holds all problems, one a line: "file:line: key: problem (why). Try: suggestion".
/// Reads config.json below model.init_from and looks whether the data files exist; nothing else.
[[nodiscard]] TrainConfig load_config(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides);

/// What a launch can be compared with only once it runs.
struct LaunchShape {
  int size = 1;        ///< ranks
  int local_size = 1;  ///< ranks on this node
};
/// The same, with fsdp_config.world_size and local_rank checked against the launch.
[[nodiscard]] TrainConfig load_config(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides,
                                      LaunchShape launch);

}  // namespace sherd::config
