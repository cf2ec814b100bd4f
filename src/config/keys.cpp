// The table of all keys, a row each: what it says, which member it is, how its value is read.
#include "config/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config/codecs.hpp"

namespace sherd::config {
namespace {

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxSize = 1 << 24;  // of a model's or batch's extent

constexpr auto kRefused = OnResume::refused;
constexpr auto kNoted = OnResume::noted;
constexpr auto kFree = OnResume::free;

#define SHERD_FIELD(member) \
  [](auto& c) -> auto& { return c.member; }

using Keys = std::vector<ConfigKey>;

/// "tiny, 125m or 1b"
std::string any_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

void add_model(Keys& k, const models::ModelFamily& family) {
  k.push_back(
      make_key({"model.init_from", kFree, "a Hugging Face folder to start from", "models/llama"},
               SHERD_FIELD(model.init_from), PathName{}));
  k.push_back(make_key({"model.preset", kFree, any_of(models::preset_names()), "tiny"},
                       SHERD_FIELD(model.preset), Word{}));
  for (const models::Field& field : family.fields) {
    k.push_back(size_of_model(field));
  }
}

void add_data(Keys& k) {
  k.push_back(make_key({"data.tokens", kFree, "token files", "[train.bin]"},
                       SHERD_FIELD(data.tokens), PathNames{}));
  k.push_back(make_key({"data.text", kFree, "text files or folders, read as bytes", "[book.txt]"},
                       SHERD_FIELD(data.text), PathNames{}));
  k.push_back(make_key({"data.token_bytes", kNoted,
                        "bytes of an id in token files without a header: 2, 4 or 8; default: 2, "
                        "for vocabularies up to 65536",
                        "4"},
                       SHERD_FIELD(data.token_bytes), Choice<int>{{{"2", 2}, {"4", 4}, {"8", 8}}}));
  using ByteOrder = DataConfig::ByteOrder;
  k.push_back(make_key(
      {"data.token_byte_order", kNoted,
       "of ids in token files without a header: little or big; default: little", "big"},
      SHERD_FIELD(data.token_byte_order),
      Choice<std::optional<ByteOrder>>{{{"little", ByteOrder::little}, {"big", ByteOrder::big}}}));
  k.push_back(make_key({"data.sequence_length", kRefused, "tokens a sequence", "256"},
                       SHERD_FIELD(data.sequence_length), Whole{1, kMaxSize}));
  k.push_back(make_key({"data.order", kNoted, "in which sequences are read", "sequential"},
                       SHERD_FIELD(data.order),
                       Choice<DataConfig::Order>{{{"sequential", DataConfig::Order::sequential},
                                                  {"shuffled", DataConfig::Order::shuffled}}}));
  k.push_back(make_key({"data.allow_change", kFree, "resume with other data files", "false"},
                       SHERD_FIELD(data.allow_change), Flag{}));
}

void add_training(Keys& k) {
  k.push_back(make_key({"training.steps", kNoted, "optimizer steps of the whole run", "1000"},
                       SHERD_FIELD(training.steps), Whole{1, kMax}));
  k.back().required = true;
  k.push_back(
      make_key({"training.global_batch_size", kRefused, "sequences a step, over all ranks", "8"},
               SHERD_FIELD(training.global_batch_size), Whole{1, kMaxSize}));
  k.push_back(make_key(
      {"training.micro_batch_size", kFree, "sequences a forward on one rank, at most", "4"},
      SHERD_FIELD(training.micro_batch_size), Whole{1, kMaxSize}));
  k.push_back(make_key(
      {"training.max_grad_norm", kNoted, "global norm gradients are clipped to; 0: never", "1.0"},
      SHERD_FIELD(training.max_grad_norm), Real{from(0.0)}));
  using Norm = fsdp::NormType;
  k.push_back(make_key(
      {"training.norm_type", kNoted, "1, 2, 3 or inf", "2"}, SHERD_FIELD(training.norm_type),
      Choice<Norm>{
          {{"1", Norm::one}, {"2", Norm::two}, {"3", Norm::three}, {"inf", Norm::infinity}}}));
  k.push_back(make_key({"training.seed", kRefused, "of first weights and shuffling", "0"},
                       SHERD_FIELD(training.seed), Whole{0, kMax}));
}

void add_optimizer(Keys& k) {
  using O = OptimizerConfig;
  k.push_back(make_key({"optimizer.name", kRefused, "the update rule", "adamw"},
                       SHERD_FIELD(optimizer.name),
                       Choice<O::Name>{{{"adamw", O::Name::adamw}, {"sgd", O::Name::sgd}}}));
  k.push_back(make_key({"optimizer.learning_rate", kNoted, "after the warm-up", "1.0e-3"},
                       SHERD_FIELD(optimizer.learning_rate), Real{from(0.0)}));
  k.push_back(make_key({"optimizer.betas", kNoted, "AdamW's averaging factors", "[0.9, 0.95]"},
                       SHERD_FIELD(optimizer.betas), Betas{}));
  k.push_back(make_key({"optimizer.epsilon", kNoted, "added to AdamW's denominator", "1.0e-8"},
                       SHERD_FIELD(optimizer.epsilon), Real{above(0.0)}));
  k.push_back(make_key({"optimizer.weight_decay", kNoted, "decoupled decay", "0.1"},
                       SHERD_FIELD(optimizer.weight_decay), Real{from(0.0)}));
  k.push_back(make_key({"optimizer.momentum", kNoted, "of sgd", "0.9"},
                       SHERD_FIELD(optimizer.momentum), Real{Bounds{0.0, 1.0, false, true}}));
  k.push_back(make_key(
      {"optimizer.decay", kNoted, "which parameters decay", "all"}, SHERD_FIELD(optimizer.decay),
      Choice<O::Decay>{{{"all", O::Decay::all}, {"matrices", O::Decay::matrices}}}));
  using Kind = optim::LrSchedule::Kind;
  k.push_back(make_key({"optimizer.schedule", kNoted, "of the learning rate", "constant"},
                       SHERD_FIELD(optimizer.schedule),
                       Choice<Kind>{{{"constant", Kind::constant}, {"cosine", Kind::cosine}}}));
  k.push_back(make_key({"optimizer.warmup_steps", kNoted, "steps of linear warm-up", "100"},
                       SHERD_FIELD(optimizer.warmup_steps), Whole{0, kMax}));
  k.push_back(make_key({"optimizer.min_learning_rate", kNoted, "where cosine ends", "0.0"},
                       SHERD_FIELD(optimizer.min_learning_rate), Real{from(0.0)}));
}

void add_precision(Keys& k) {
  k.push_back(make_key(
      {"fsdp_config.initial_loss_scale", kFree, "where fp16's loss scale starts", "65536.0"},
      SHERD_FIELD(fsdp_config.initial_loss_scale), Real{above(0.0)}));
  k.push_back(make_key(
      {"fsdp_config.reduce_dtype", kNoted, "of gradient sums inside a node; default: f32", "f32"},
      SHERD_FIELD(fsdp_config.options.mixed_precision.reduce_dtype),
      Choice<std::optional<DType>>{
          {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}}}));
  k.push_back(make_key({"fsdp_config.cross_reduce_dtype", kNoted,
                        "of gradient sums between nodes; default: reduce_dtype", "bf16"},
                       SHERD_FIELD(fsdp_config.options.mixed_precision.cross_reduce_dtype),
                       Choice<std::optional<DType>>{
                           {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}}}));
  k.push_back(make_key({"fsdp_config.accumulate_dtype", kNoted,
                        "of gradients summed over micro-batches; default: f32", "f32"},
                       SHERD_FIELD(fsdp_config.options.mixed_precision.accumulate_dtype),
                       Choice<std::optional<DType>>{{{"f32", DType::f32}, {"bf16", DType::bf16}}}));
}

void add_schedule(Keys& k) {
  using Reshard = fsdp::ReshardAfterForward;
  k.push_back(make_key({"fsdp_config.reshard_after_forward", kFree,
                        "give whole parameters back: auto (as the strategy says), true, "
                        "false, or node (keep a node's part)",
                        "auto"},
                       SHERD_FIELD(fsdp_config.options.reshard_after_forward),
                       Choice<Reshard>{{{"auto", Reshard::by_strategy},
                                        {"true", Reshard::always},
                                        {"false", Reshard::never},
                                        {"node", Reshard::node}}}));
  k.push_back(make_key({"fsdp_config.reshard_after_backward", kFree,
                        "false: parameters stay whole between micro-batches", "true"},
                       SHERD_FIELD(fsdp_config.options.reshard_after_backward), Flag{}));
  using Mode = fsdp::Accumulation;
  k.push_back(make_key(
      {"fsdp_config.gradient_accumulation", kFree,
       "what travels before the last micro-batch: reduce_each (all), defer_all_reduce (nothing "
       "between nodes), no_sync (nothing)",
       "reduce_each"},
      SHERD_FIELD(fsdp_config.options.accumulation),
      Choice<Mode>{{{"reduce_each", Mode::reduce_each},
                    {"defer_all_reduce", Mode::defer_all_reduce},
                    {"no_sync", Mode::no_sync}}}));
}

void add_fsdp(Keys& k) {
  k.push_back(make_key({"fsdp_config.world_size", kFree, "ranks the launch must have", "2"},
                       SHERD_FIELD(fsdp_config.world_size), OptionalWhole{1}));
  k.push_back(make_key({"fsdp_config.local_rank", kFree, "a rank index every node must have", "0"},
                       SHERD_FIELD(fsdp_config.local_rank), OptionalWhole{0}));
  k.push_back(
      make_key({"fsdp_config.sharding_strategy", kFree, "what is cut over the ranks", "FULL_SHARD"},
               SHERD_FIELD(fsdp_config.options.strategy), strategy_names()));
  const auto add_flag = [&](const char* key, OnResume on_resume, const char* meaning,
                            const char* example, auto field) {
    k.push_back(make_key({key, on_resume, meaning, example}, field, Flag{}));
  };
  add_flag("fsdp_config.shard_optimizer_state", kFree,
           "cut the optimizer state as the gradients are", "true",
           SHERD_FIELD(fsdp_config.shard_optimizer_state));
  add_flag("fsdp_config.mixed_precision", kNoted, "compute in 16 bits, keep the state in 32",
           "true", SHERD_FIELD(fsdp_config.mixed_precision));
  add_flag("fsdp_config.fp16", kNoted, "with mixed_precision: fp16 instead of bf16", "false",
           SHERD_FIELD(fsdp_config.fp16));
  add_precision(k);
  add_schedule(k);
  add_flag("fsdp_config.activation_checkpointing", kFree, "recompute blocks in backward", "true",
           SHERD_FIELD(fsdp_config.activation_checkpointing));
  add_flag("fsdp_config.use_reentrant", kFree, "recompute whole blocks at once", "false",
           SHERD_FIELD(fsdp_config.use_reentrant));
  k.push_back(make_key({"fsdp_config.device", kFree, "cpu or cuda", "cpu"},
                       SHERD_FIELD(fsdp_config.device), Word{}));
  add_flag("fsdp_config.offload_params", kFree, "keep shards in host memory", "false",
           SHERD_FIELD(fsdp_config.offload_params));
  add_flag("fsdp_config.offload_optimizer_state", kFree, "keep the optimizer state in host memory",
           "false", SHERD_FIELD(fsdp_config.offload_optimizer_state));
  k.push_back(make_key({"fsdp_config.model_parallel_size", kFree, "tensor parallel ranks", "1"},
                       SHERD_FIELD(fsdp_config.model_parallel_size), Whole{1, 1 << 20}));
  k.push_back(make_key({"fsdp_config.checkpoint_interval", kFree,
                        "steps between saves; 0: only at the end and when stopped", "1000"},
                       SHERD_FIELD(fsdp_config.checkpoint_interval), Whole{0, kMax}));
  k.push_back(
      make_key({"fsdp_config.checkpoint_dir", kFree, "folder of the checkpoints", "checkpoints"},
               SHERD_FIELD(fsdp_config.checkpoint_dir), PathName{}));
  k.push_back(make_key({"fsdp_config.prefetch_depth", kFree, "groups gathered ahead", "1"},
                       SHERD_FIELD(fsdp_config.options.prefetch_depth), Whole{0, 8}));
  k.push_back(make_key(
      {"fsdp_config.reduction_slots", kFree, "groups whose gradients are on their way", "2"},
      SHERD_FIELD(fsdp_config.options.reduction_slots), Whole{1, 8}));
  k.push_back(make_key({"fsdp_config.comm_progress", kFree,
                        "who drives transfers between nodes: polling or thread", "polling"},
                       SHERD_FIELD(fsdp_config.comm_progress),
                       Choice<comm::Progress>{{{"polling", comm::Progress::polling},
                                               {"thread", comm::Progress::thread}}}));
  k.push_back(make_key({"fsdp_config.comm_backend", kFree, "how ranks talk", "auto"},
                       SHERD_FIELD(fsdp_config.comm_backend),
                       Choice<std::string>{{{"auto", "auto"}, {"shm", "shm"}, {"mpi", "mpi"}}}));
}

void add_rest(Keys& k) {
  k.push_back(make_key({"checkpoint.keep_last", kFree, "committed checkpoints kept; 0: all", "3"},
                       SHERD_FIELD(checkpoint.keep_last), Whole{0, 1 << 20}));
  k.push_back(make_key(
      {"checkpoint.keep_every", kFree, "steps divisible by it are kept for good; 0: none", "0"},
      SHERD_FIELD(checkpoint.keep_every), Whole{0, kMax}));
  using io::Layout;
  k.push_back(
      make_key({"checkpoint.layout", kFree, "which ranks share a file of a checkpoint", "per_node"},
               SHERD_FIELD(checkpoint.layout),
               Choice<Layout>{{{"per_node", Layout::per_node},
                               {"per_rank", Layout::per_rank},
                               {"single_file", Layout::single_file}}}));
  using io::WriteBackend;
  k.push_back(make_key({"checkpoint.io", kFree, "how bytes get into the files", "auto"},
                       SHERD_FIELD(checkpoint.backend),
                       Choice<WriteBackend>{{{"auto", WriteBackend::automatic},
                                             {"io_uring", WriteBackend::io_uring},
                                             {"pwrite", WriteBackend::pwrite},
                                             {"mpio", WriteBackend::mpio}}}));
  using Staging = CheckpointConfig::Staging;
  k.push_back(make_key({"checkpoint.staging", kFree,
                        "lazy: copy while the next step computes; eager: before it begins", "lazy"},
                       SHERD_FIELD(checkpoint.staging),
                       Choice<Staging>{{{"lazy", Staging::lazy}, {"eager", Staging::eager}}}));
  k.push_back(
      make_key({"checkpoint.staging_bytes_per_node", kFree,
                "memory that states are copied to; larger ones are saved in waves", "17179869184"},
               SHERD_FIELD(checkpoint.staging_bytes_per_node), Whole{1, kMax}));
  using Resume = CheckpointConfig::Resume;
  k.push_back(make_key(
      {"checkpoint.resume", kFree,
       "whether to go on from the newest checkpoint: auto, must (end without one), never, or older "
       "(take an older one where the newest cannot be read)",
       "auto"},
      SHERD_FIELD(checkpoint.resume),
      Choice<Resume>{{{"auto", Resume::automatic},
                      {"never", Resume::never},
                      {"must", Resume::must},
                      {"older", Resume::older}}}));
  k.push_back(make_key({"checkpoint.load_from", kFree,
                        "another run's checkpoint to start from, a step folder or its directory; "
                        "only read",
                        "../other/checkpoints/step-00000030"},
                       SHERD_FIELD(checkpoint.load_from), PathName{}));
  k.push_back(make_key({"checkpoint.overlap", kFree, "a save while one is in flight", "wait"},
                       SHERD_FIELD(checkpoint.overlap),
                       Choice<io::Overlap>{{{"wait", io::Overlap::wait},
                                            {"skip", io::Overlap::skip},
                                            {"fail", io::Overlap::fail}}}));
  using OnFailure = CheckpointConfig::OnFailure;
  k.push_back(
      make_key({"checkpoint.on_failure", kFree,
                "a save that fails: warn and go on, or stop; the last one always stops", "warn"},
               SHERD_FIELD(checkpoint.on_failure),
               Choice<OnFailure>{{{"warn", OnFailure::warn}, {"stop", OnFailure::stop}}}));
  k.push_back(make_key(
      {"checkpoint.verify_after_save", kFree, "read everything back before the commit", "false"},
      SHERD_FIELD(checkpoint.verify_after_save), Flag{}));
  k.push_back(
      make_key({"logging.directory", kFree, "folder of metrics.jsonl and config.yaml", "run"},
               SHERD_FIELD(logging.directory), PathName{}));
  k.push_back(make_key({"logging.interval", kFree, "steps between lines on the console", "1"},
                       SHERD_FIELD(logging.interval), Whole{1, kMax}));
}

#undef SHERD_FIELD

}  // namespace

std::vector<ConfigKey> config_keys(const models::ModelFamily& family) {
  Keys made;
  made.push_back(version_key({"config_version", kFree, "format of this file", "1"}));
  add_model(made, family);
  add_data(made);
  add_training(made);
  add_optimizer(made);
  add_fsdp(made);
  add_rest(made);
  return made;
}

std::vector<ConfigKey> config_keys() { return config_keys(models::ModelSpec().family()); }

const std::vector<std::string>& config_sections() {
  static const std::vector<std::string> sections = {
      "model", "data", "training", "optimizer", "fsdp_config", "checkpoint", "logging"};
  return sections;
}

const ConfigKey* find_key(const std::vector<ConfigKey>& keys, const std::string& path) {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const ConfigKey& key) { return key.path == path; });
  return found == keys.end() ? nullptr : &*found;
}

std::string_view to_string(OnResume change) noexcept {
  switch (change) {
    case OnResume::refused:
      return "refused";
    case OnResume::noted:
      return "noted";
    case OnResume::free:
      return "free";
  }
  return "";
}

bool is_size(const ConfigKey& key) {
  return key.section() == "model" && key.name() != "init_from" && key.name() != "preset";
}

}  // namespace sherd::config
