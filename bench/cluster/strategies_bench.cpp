// Steps of a Llama decoder under the strategies that differ in what they send between nodes: time,
// bytes that left this node's network interfaces, and the bytes the plan says.
//   tests/cluster/two_nodes.py --rate 1gbit -- bench_strategies
// Prints one JSON line for each strategy and number of micro-batches.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "sherd/autograd/functional.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/models/llama.hpp"
#include "sherd/optim/adamw.hpp"
#include "sherd/runtime/runtime.hpp"

namespace {

using namespace sherd;

struct Options {
  models::LlamaConfig llama;
  std::int64_t seq = 32;
  std::int64_t batch = 1;  // sequences per rank and micro-batch
  int steps = 5;
  std::vector<std::string> strategies{"FULL_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_FULL_OPTIM"};
  std::vector<int> micro_batches{1, 4};
  std::string progress = "polling";
};

/// Bytes sent so far through all interfaces of this node but the one to itself.
double sent_bytes() {
  std::ifstream file("/proc/net/dev");
  double sum = 0;
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, colon).find("lo") != std::string::npos) {
      continue;
    }
    std::istringstream numbers(line.substr(colon + 1));
    double number = 0;
    for (int column = 0; column < 9 && numbers >> number; ++column) {
    }
    sum += number;
  }
  return sum;
}

Tensor random_ids(const Options& options, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto vocab = static_cast<std::uint32_t>(options.llama.vocab_size);
  const Tensor ids = Tensor::empty({options.batch, options.seq}, DType::i32);
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % vocab);
  }
  return ids;
}

class Training {
 public:
  Training(const Options& options, comm::MeshComms& comms, fsdp::ShardingStrategy strategy,
           int micro_batches)
      : options_(options),
        comms_(comms),
        micro_batches_(micro_batches),
        model_(make(options, comms, strategy)),
        optimizer_(model_.parameters(), {.learning_rate = 1e-4}) {}

  void step(int number) {
    optimizer_.zero_grad();
    const auto tokens = static_cast<double>(options_.batch * options_.seq);
    const double count = tokens * comms_.world->size() * micro_batches_;
    for (int i = 0; i < micro_batches_; ++i) {
      const Tensor ids = random_ids(options_, number * 100 + i * 10 + comms_.world->rank());
      model_.set_is_last_backward(i + 1 == micro_batches_);
      model_.backward(autograd::cross_entropy(model_(nn::Variable(ids)), ids, 1.0 / count));
    }
    static_cast<void>(model_.clip_grad_norm(1.0));
    optimizer_.step();
  }

  [[nodiscard]] std::size_t planned_cross_bytes() const {
    return model_.plan(micro_batches_).traffic.bytes(fsdp::LinkLevel::cross);
  }

 private:
  static fsdp::ShardedModel make(const Options& options, comm::MeshComms& comms,
                                 fsdp::ShardingStrategy strategy) {
    fsdp::FullyShardOptions sharding;
    sharding.strategy = strategy;
    // Where a node holds the whole gradient, the sum over nodes can wait for the last micro-batch.
    if (row(strategy).parameters == fsdp::Level::node) {
      sharding.accumulation = fsdp::Accumulation::defer_all_reduce;
    }
    return fsdp::fully_shard(std::make_shared<models::Llama>(options.llama), comms, sharding);
  }

  const Options& options_;
  comm::MeshComms& comms_;
  int micro_batches_;
  fsdp::ShardedModel model_;
  optim::AdamW optimizer_;
};

void measure(const Options& options, comm::MeshComms& comms, const std::string& strategy,
             int micro_batches) {
  using Clock = std::chrono::steady_clock;
  Training training(options, comms, fsdp::parse_strategy(strategy), micro_batches);
  for (int i = 0; i < 2; ++i) {  // connections, pages, the recorded order
    training.step(i);
  }
  comms.world->barrier();
  const double sent_before = sent_bytes();
  std::vector<double> milliseconds;
  for (int i = 0; i < options.steps; ++i) {
    comms.world->barrier();
    const auto start = Clock::now();
    training.step(2 + i);
    comms.world->barrier();
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  const double sent = (sent_bytes() - sent_before) / options.steps;
  std::sort(milliseconds.begin(), milliseconds.end());
  if (comms.world->rank() == 0) {
    fmt::print(
        "{{\"bench\":\"strategies\",\"strategy\":\"{}\",\"micro_batches\":{},\"nodes\":{},"
        "\"ranks_per_node\":{},\"progress\":\"{}\",\"step_ms\":{:.1f},\"fastest_ms\":{:.1f},"
        "\"wire_bytes\":{:.0f},\"planned_bytes\":{}}}\n",
        strategy, micro_batches, comms.mesh.nodes(), comms.mesh.local_size(), options.progress,
        milliseconds[milliseconds.size() / 2], milliseconds.front(), sent,
        training.planned_cross_bytes() * static_cast<std::size_t>(comms.mesh.local_size()));
    std::fflush(stdout);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  options.llama = {.vocab_size = 256,
                   .hidden_size = 512,
                   .intermediate_size = 1376,
                   .num_hidden_layers = 4,
                   .num_attention_heads = 8,
                   .num_key_value_heads = 8};
  CLI::App app("bench_strategies: what strategies send between nodes, and how long a step takes");
  app.add_option("--dim", options.llama.hidden_size, "hidden size");
  app.add_option("--ffn", options.llama.intermediate_size, "width of the feed-forward part");
  app.add_option("--layers", options.llama.num_hidden_layers, "blocks");
  app.add_option("--seq", options.seq, "tokens per sequence");
  app.add_option("--batch", options.batch, "sequences per rank and micro-batch");
  app.add_option("--steps", options.steps, "measured steps of each kind");
  app.add_option("--strategies", options.strategies, "names as in YAML")->delimiter(',');
  app.add_option("--micro-batches", options.micro_batches, "per step")->delimiter(',');
  app.add_option("--progress", options.progress, "polling or thread");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  runtime::Runtime runtime(argc, argv);
  try {
    comm::MeshComms comms = comm::make_mesh_comms(
        "auto", options.progress == "thread" ? comm::Progress::thread : comm::Progress::polling);
    for (const int micro_batches : options.micro_batches) {
      for (const std::string& strategy : options.strategies) {
        measure(options, comms, strategy, micro_batches);
      }
    }
  } catch (const std::exception& error) {
    log::error(error.what());
    runtime.abort(1);
  }
  return 0;
}
