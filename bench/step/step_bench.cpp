// One training step of a Llama decoder on this launch's ranks: FULL_SHARD and NO_SHARD in
// alternating steps of one process, and the step's own matrix products replayed on the buffers they
// used.
//   mpirun -n 2 bench_step --dtype bf16
//   mpirun -n 1 bench_step --dtype bf16 --threads 2 --batch 8
// Prints one JSON line. The sizes default to 25.6 M parameters, the threads of a rank to what
// `sherd info` says. node_mib is what the ranks hold in memory together, shared pages counted once.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sherd/autograd/functional.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/models/llama.hpp"
#include "sherd/optim/adamw.hpp"
#include "sherd/runtime/runtime.hpp"
#include "sherd/runtime/team.hpp"
#include "sherd/tensor/kernel/matmul.hpp"

namespace {

using namespace sherd;
using Clock = std::chrono::steady_clock;

struct Options {
  models::LlamaConfig llama;
  std::int64_t seq = 256;
  std::int64_t batch = 4;  // sequences per rank
  int steps = 10;
  std::string dtype = "f32";
  std::string backend = "auto";
  bool only_full = false;
  bool checkpointing = false;
  int threads = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Tokens {
  Tensor ids;
  Tensor targets;
};

Tokens random_tokens(const Options& options, int rank, int step) {
  std::mt19937 random(static_cast<unsigned>(1000 * rank + step));
  std::uniform_int_distribution<std::int32_t> any(
      0, static_cast<std::int32_t>(options.llama.vocab_size) - 1);
  Tokens tokens{Tensor::empty({options.batch, options.seq}, DType::i32),
                Tensor::empty({options.batch, options.seq}, DType::i32)};
  for (std::int64_t i = 0; i < tokens.ids.numel(); ++i) {
    tokens.ids.data<std::int32_t>()[i] = any(random);
    tokens.targets.data<std::int32_t>()[i] = any(random);
  }
  return tokens;
}

class Training {
 public:
  Training(const Options& options, comm::MeshComms& comms, fsdp::ShardingStrategy strategy)
      : options_(options),
        comms_(comms),
        model_(make(options, comms, strategy)),
        optimizer_(model_.parameters(), {.learning_rate = 1e-4}) {}

  double step(int number) {
    const Tokens tokens = random_tokens(options_, comms_.world->rank(), number);
    comms_.world->barrier();
    const Clock::time_point start = Clock::now();
    optimizer_.zero_grad();
    const double count = static_cast<double>(tokens.ids.numel() * comms_.world->size());
    const nn::Variable loss =
        autograd::cross_entropy(model_(nn::Variable(tokens.ids)), tokens.targets, 1.0 / count);
    fsdp::StepValues values{*loss.data().data<double>(), 0.0};
    model_.backward(loss);
    static_cast<void>(model_.clip_grad_norm(1.0, &values));
    optimizer_.step();
    loss_ = values.loss;
    comms_.world->barrier();
    return seconds_since(start);
  }

  double loss() const { return loss_; }

 private:
  static fsdp::ShardedModel make(const Options& options, comm::MeshComms& comms,
                                 fsdp::ShardingStrategy strategy) {
    fsdp::FullyShardOptions sharding;
    sharding.strategy = strategy;
    sharding.mixed_precision.param_dtype = parse_dtype(options.dtype);
    std::optional<autograd::Recompute> recompute;
    if (options.checkpointing) {
      recompute = autograd::Recompute::non_reentrant;
    }
    return fsdp::fully_shard(std::make_shared<models::Llama>(options.llama, recompute), comms,
                             sharding);
  }

  const Options& options_;
  comm::MeshComms& comms_;
  fsdp::ShardedModel model_;
  optim::AdamW optimizer_;
  double loss_ = 0.0;
};

/// Proportional set sizes of all ranks: a page that several share counts once.
double node_mib(comm::Communicator& world) {
  std::int64_t kib = 0;
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;) {
    if (word == "Pss:") {
      rollup >> kib;
      break;
    }
  }
  std::int64_t all = 0;
  world.all_reduce(&kib, &all, 1, DType::i64, comm::ReduceOp::sum).wait();
  return static_cast<double>(all) / 1024;
}

struct Replay {
  double flops = 0.0;
  double seconds = 0.0;
};

/// Runs one more step while recording its products, then the products alone.
Replay replay_products(Training& training, comm::Communicator& world, int repeats) {
  std::vector<kernel::MatmulRecord> products;
  kernel::record_matmuls(&products);
  training.step(-1);
  kernel::record_matmuls(nullptr);
  Replay replay;
  for (const auto& product : products) {
    replay.flops +=
        2.0 * static_cast<double>(product.m * product.n) * static_cast<double>(product.k);
  }
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    world.barrier();
    const Clock::time_point start = Clock::now();
    for (const auto& p : products) {
      kernel::matmul(p.a, p.trans_a, p.b, p.trans_b, p.c, p.write);
    }
    seconds.push_back(seconds_since(start));
  }
  replay.seconds = median(seconds);
  return replay;
}

Options parse(int argc, char** argv) {
  Options options;
  options.llama = {.vocab_size = 256,
                   .hidden_size = 512,
                   .intermediate_size = 1376,
                   .num_hidden_layers = 8,
                   .num_attention_heads = 8,
                   .num_key_value_heads = 8};
  CLI::App app(
      "bench_step: time of a training step, FULL_SHARD against NO_SHARD and against its "
      "own matrix products");
  app.add_option("--dim", options.llama.hidden_size, "hidden size");
  app.add_option("--ffn", options.llama.intermediate_size, "width of the feed-forward part");
  app.add_option("--layers", options.llama.num_hidden_layers, "blocks");
  app.add_option("--heads", options.llama.num_attention_heads, "query heads");
  app.add_option("--kv-heads", options.llama.num_key_value_heads, "key and value heads");
  app.add_option("--vocab", options.llama.vocab_size, "tokens known");
  app.add_option("--seq", options.seq, "tokens per sequence");
  app.add_option("--batch", options.batch, "sequences per rank");
  app.add_option("--steps", options.steps, "measured steps of each kind");
  app.add_option("--dtype", options.dtype, "f32 or bf16")->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--backend", options.backend, "auto, shm or mpi");
  app.add_option("--threads", options.threads, "of each rank: OMP_NUM_THREADS")
      ->check(CLI::PositiveNumber);
  app.add_flag("--only-full", options.only_full, "FULL_SHARD alone (for profiling)");
  app.add_flag("--activation-checkpointing", options.checkpointing, "recompute blocks");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  if (options.threads > 0) {  // before MPI and libraries start
    setenv("OMP_NUM_THREADS", std::to_string(options.threads).c_str(), 1);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  int name_alone = 1;  // Kokkos has a --threads of its own
  runtime::Runtime runtime(name_alone, argv);
  comm::MeshComms comms = comm::make_mesh_comms(options.backend);
  Training full(options, comms, fsdp::ShardingStrategy::full_shard);
  std::optional<Training> none;
  if (!options.only_full) {
    none.emplace(options, comms, fsdp::ShardingStrategy::no_shard);
  }
  std::vector<double> full_seconds;
  std::vector<double> none_seconds;
  for (int s = -2; s < options.steps; ++s) {  // two to warm up
    const double one = full.step(s + 2);
    const double other = none ? none->step(s + 2) : 0.0;
    if (s >= 0) {
      full_seconds.push_back(one);
      none_seconds.push_back(other);
    }
  }
  const Replay replay = replay_products(full, *comms.world, 5);
  const models::LlamaConfig& llama = options.llama;
  const double tokens = static_cast<double>(options.batch * options.seq);
  const double flops =
      tokens *
      (6.0 * static_cast<double>(llama.parameter_count()) +
       6.0 * static_cast<double>(llama.num_hidden_layers * options.seq * llama.hidden_size));
  const double step = median(full_seconds);
  const double mib = node_mib(*comms.world);
  if (runtime.rank() == 0) {
    fmt::print(
        "{{\"bench\":\"step\",\"dtype\":\"{}\",\"ranks\":{},\"threads\":{},\"node_mib\":{:.0f},"
        "\"parameters\":{},\"full_shard_ms\":{:."
        "2f},"
        "\"no_shard_ms\":{:.2f},\"full_over_no\":{},\"tokens_per_second\":{:.0f},"
        "\"step_gflops_per_rank\":{:.1f},\"replay_gflops_per_rank\":{:.1f},\"step_over_replay\":{:."
        "3f},"
        "\"replay_ms\":{:.2f},\"loss\":{:.4f}}}\n",
        options.dtype, runtime.size(), runtime::team_threads(), mib, llama.parameter_count(),
        step * 1e3, median(none_seconds) * 1e3,
        options.only_full ? "null" : fmt::format("{:.4f}", step / median(none_seconds)),
        tokens * runtime.size() / step, flops / step / 1e9, replay.flops / replay.seconds / 1e9,
        flops / step / (replay.flops / replay.seconds), replay.seconds * 1e3, full.loss());
  }
  return 0;
}
