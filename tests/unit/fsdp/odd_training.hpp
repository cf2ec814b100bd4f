#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/optim/adamw.hpp"
#include "sherd/optim/sgd.hpp"
#include "support/mesh_of.hpp"
#include "unit/fsdp/odd_model.hpp"

namespace sherd::testing {

struct OddRun {
  Grid grid;
  Memory memory = Memory::shared;
  fsdp::FullyShardOptions sharding;
  OddModelOptions model;
  std::vector<std::vector<std::size_t>> orders;  ///< per step; empty: the model's
  int steps = 4;
  int micro_batches = 1;
  double max_norm = 0.5;
  double momentum = -1.0;  ///< >= 0: SGD with it, else AdamW
  std::uint64_t seed = 0;  ///< Memory::device: of the order of its streams
};

/// What a run leaves: values per step and the whole final parameters.
struct OddResult {
  std::vector<double> loss;
  std::vector<double> norm;
  std::map<std::string, std::vector<double>> parameters;
};

inline constexpr std::int64_t kOddBatch = 7;  // rows a step, over all ranks: uneven for most

inline std::unique_ptr<optim::Optimizer> odd_optimizer(const OddRun& run,
                                                       fsdp::ShardedModel& model) {
  if (run.momentum >= 0.0) {
    return std::make_unique<optim::Sgd>(
        model.parameters(), optim::SgdOptions{.learning_rate = 0.05, .momentum = run.momentum});
  }
  return std::make_unique<optim::AdamW>(
      model.parameters(),
      optim::AdamWOptions{
          .learning_rate = 0.02, .weight_decay = 0.1, .decay = optim::Decay::matrices});
}

/// Rows of a step and micro-batch this rank computes: cut as evenly as it goes, possibly none.
inline std::pair<std::int64_t, std::int64_t> odd_share(std::int64_t rows, int parts, int part) {
  const std::int64_t begin = rows * part / parts;
  return {begin, rows * (part + 1) / parts - begin};
}

inline double odd_step(const OddRun& run, fsdp::ShardedModel& model, int step, int rank) {
  const DType dtype = run.sharding.mixed_precision.master_dtype;
  double sum = 0.0;
  for (int m = 0; m < run.micro_batches; ++m) {
    const auto [first, count] =
        odd_share(kOddBatch, run.grid.ranks() * run.micro_batches, rank * run.micro_batches + m);
    const std::int64_t row = step * kOddBatch + first;
    const nn::Variable y =
        autograd::cast(model(nn::Variable(odd_rows(row, count, 4, 0, DType::f64))), dtype);
    const nn::Variable loss =
        autograd::squared_error(y, odd_rows(row, count, 3, 5, dtype), 1.0 / kOddBatch);
    sum += *loss.data().data<double>();
    model.set_is_last_backward(m + 1 == run.micro_batches);
    model.backward(loss);
  }
  return sum;
}

inline void collect(fsdp::ShardedModel& model, OddResult& result) {
  for (const auto& [key, tensor] : model.state_dict().tensors) {
    auto& whole = result.parameters[key];
    whole.resize(static_cast<std::size_t>(tensor.spec.global_shape.numel()));
    const Tensor values = to_host(to_dtype(tensor.local, DType::f64));
    for (std::int64_t i = 0; i < tensor.spec.numel; ++i) {
      whole[static_cast<std::size_t>(tensor.spec.offset + i)] = values.data<double>()[i];
    }
  }
}

/// Trains an OddModel on threads as ranks.
inline OddResult train_odd(const OddRun& run) {
  OddResult result;
  std::mutex mutex;
  run_grid(
      run.grid, run.memory,
      [&](comm::MeshComms& comms) {
        const int rank = comms.world->rank();
        const auto net = std::make_shared<OddModel>(run.model);
        fsdp::ShardedModel model = fsdp::fully_shard(net, comms, run.sharding);
        const auto optimizer = odd_optimizer(run, model);
        for (int step = 0; step < run.steps; ++step) {
          if (!run.orders.empty()) {
            net->set_order(run.orders[static_cast<std::size_t>(step)]);
          }
          optimizer->zero_grad();
          fsdp::StepValues values{odd_step(run, model, step, rank), 0.0};
          const double norm = model.clip_grad_norm(run.max_norm, &values);
          optimizer->step();
          const std::lock_guard lock(mutex);
          if (rank == 0) {
            result.loss.push_back(values.loss);
            result.norm.push_back(norm);
          }
        }
        const std::lock_guard lock(mutex);
        collect(model, result);
      },
      run.seed);
  return result;
}

}  // namespace sherd::testing
