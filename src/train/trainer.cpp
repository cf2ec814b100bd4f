#include "sherd/train/trainer.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/train/agreement.hpp"
#include "sherd/train/console.hpp"
#include "sherd/train/data_source.hpp"
#include "sherd/train/hf_weights.hpp"
#include "sherd/train/metrics.hpp"
#include "sherd/train/stop_signal.hpp"
#include "train/trainer_options.hpp"
#include "train/trainer_state.hpp"

namespace sherd::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// For tests: SHERD_TEST_THROW=rank:step makes that rank fail in the forward of that step.
void throw_if_told(int rank, std::int64_t step) {
  const char* told = std::getenv("SHERD_TEST_THROW");
  if (told != nullptr && fmt::format("{}:{}", rank, step) == told) {
    throw Error(
        fmt::format("forward of step {} failed (SHERD_TEST_THROW={} asked for it)", step, told));
  }
}

const char* to_text(io::SavePhase phase) {
  switch (phase) {
    case io::SavePhase::staging:
      return "staging";
    case io::SavePhase::staged:
      return "writing";
    case io::SavePhase::written:
      return "syncing";
    case io::SavePhase::durable:
      return "committing";
    case io::SavePhase::committed:
      return "saved";
    case io::SavePhase::failed:
      return "failed";
  }
  return "";
}

class Trainer {
 public:
  Trainer(runtime::Runtime& runtime, const TrainConfig& config)
      : runtime_(runtime),
        config_(config),
        comms_(comm::make_mesh_comms(config.fsdp_config.comm_backend)) {
    write_config();
    agree(world(), [&] { open_data(); });
    make_sharded_model();
    optimizer_ = make_optimizer(config_.optimizer, model_->parameters());
    state_ = make_state(*model_, *optimizer_);
    checkpointer_.emplace(comms_, io::CheckpointerOptions{config_.fsdp_config.checkpoint_dir,
                                                          config_.checkpoint.keep_last,
                                                          config_.checkpoint.when_busy});
    resume();
    open_outputs();
  }

  int run() {
    while (step_ < config_.training.steps && !stopped_) {
      const StepMetrics metrics = do_step();
      if (runtime_.rank() == 0) {
        metrics_->write(metrics);
        console_->step(metrics, checkpoint_text());
      }
    }
    return finish();
  }

 private:
  comm::Communicator& world() { return *comms_.world; }

  void say(const std::string& text) {
    if (runtime_.rank() == 0 && console_) {
      console_->message(text);
    } else {
      log::info(text);
    }
  }

  void write_config() {
    agree(world(), [&] {
      if (runtime_.rank() != 0) {
        return;
      }
      const auto file = config_.logging.directory / "config.yaml";
      std::error_code error;
      std::filesystem::create_directories(config_.logging.directory, error);
      std::ofstream out(file);
      out << config_.resolved_yaml;
      out.close();
      validate(!out.fail(), fmt::format("{} cannot be written (the run's log goes there). Try: "
                                        "another logging.directory",
                                        file.string()));
    });
    for (const std::string& notice : config_.notices) {
      log::info(notice);
    }
  }

  void open_data() {
    data_.emplace(config_.data, config_.model.llama.vocab_size, config_.training.global_batch_size,
                  config_.training.seed);
    data_->check_tokens(0, config_.training.steps, runtime_.size(), runtime_.rank());
  }

  void make_sharded_model() {
    fsdp::FullyShardOptions options = fsdp_options(config_);
    std::optional<HfWeights> weights;
    agree(world(), [&] {
      if (!config_.model.init_from.empty()) {
        weights.emplace(config_.model.init_from, config_.model.llama);
      }
    });
    if (weights) {
      options.load = [&](const std::string& name, std::int64_t first, const Tensor& out) {
        weights->fill(name, first, out);
      };
    }
    model_.emplace(fsdp::fully_shard(make_model(config_), comms_, std::move(options)));
  }

  Progress progress() const {
    return {step_, std::string(optimizer_->name()), config_.training.global_batch_size,
            config_.data.sequence_length, config_.training.seed};
  }

  void resume() {
    using Resume = CheckpointConfig::Resume;
    if (config_.checkpoint.resume == Resume::never) {
      return;
    }
    const auto report = checkpointer_->load_latest(state_);
    if (!report) {
      validate(config_.checkpoint.resume != Resume::must,
               fmt::format("{} holds no checkpoint (checkpoint.resume is must). Try: "
                           "checkpoint.resume=auto",
                           config_.fsdp_config.checkpoint_dir.string()));
      return;
    }
    const Progress saved = parse_progress(state_.common.at("trainer"));
    check_continues(saved, progress());
    data_->check_manifest(state_.common.at("data"));
    step_ = saved.step;
    saved_step_ = saved.step;
    optimizer_->set_step_count(saved.step);
    model_->parameters_changed();
    for (const std::string& note : report->notes) {
      say(note);
    }
    say(fmt::format("resumed from {} at step {}", report->path.string(), step_));
  }

  void open_outputs() {
    state_.common["config"] = config_.resolved_json;
    state_.common["data"] = data_->manifest();
    memory_ = model_->memory();
    memory_.optimizer_state = optimizer_->state_bytes();
    agree(world(), [&] {
      if (runtime_.rank() == 0) {
        metrics_.emplace(config_.logging.directory / "metrics.jsonl", step_ + 1);
        ConsoleOptions options = console_options_for_stdout();
        options.first_step = step_ + 1;
        options.last_step = config_.training.steps;
        options.interval = config_.logging.interval;
        console_.emplace(std::move(options));
      }
    });
  }

  double forward_backward() {
    const SequenceRange share =
        rank_share(config_.training.global_batch_size, runtime_.size(), runtime_.rank());
    const std::int64_t most =
        rank_share(config_.training.global_batch_size, runtime_.size(), 0).count;
    const std::int64_t micro = config_.training.micro_batch_size;
    const double weight = 1.0 / static_cast<double>(config_.training.global_batch_size *
                                                    config_.data.sequence_length);
    double loss_sum = 0.0;
    for (std::int64_t done = 0; done < most; done += micro) {
      const std::int64_t count = std::clamp<std::int64_t>(share.count - done, 0, micro);
      const Batch batch = data_->batch(step_, {share.first + std::min(done, share.count), count});
      throw_if_told(runtime_.rank(), step_ + 1);
      const autograd::Variable logits = (*model_)(autograd::Variable(batch.tokens));
      const autograd::Variable loss = autograd::cross_entropy(logits, batch.targets, weight);
      loss_sum += *loss.data().data<double>();
      model_->set_is_last_backward(done + micro >= most);
      model_->backward(loss);
    }
    return loss_sum;
  }

  StepMetrics do_step() {
    const Clock::time_point start = Clock::now();
    optimizer_->zero_grad();
    fsdp::StepValues values{forward_backward(), stop_.requested() ? 1.0 : 0.0};
    const double norm = model_->clip_grad_norm(config_.training.max_grad_norm, &values);
    if (!std::isfinite(values.loss) || !std::isfinite(norm)) {
      throw ConfigError(fmt::format(
          "step {}: loss {} and gradient norm {} (the update would destroy the weights; nothing "
          "was "
          "changed). Try: a lower optimizer.learning_rate, or training.max_grad_norm=1.0",
          step_ + 1, values.loss, norm));
    }
    const double rate = config_.schedule().at(step_);
    optimizer_->set_learning_rate(rate);
    optimizer_->step();
    ++step_;
    stopped_ = values.flag > 0.0;
    StepMetrics metrics{step_, values.loss, norm, rate, 0.0, 0.0, memory_kinds(), 0.0};
    const std::int64_t interval = config_.fsdp_config.checkpoint_interval;
    if ((interval > 0 && step_ % interval == 0) || stopped_ || step_ == config_.training.steps) {
      metrics.checkpoint_stall_seconds = save();
    }
    checkpointer_->poll();
    metrics.step_seconds = seconds_since(start);
    metrics.tokens_per_second =
        static_cast<double>(config_.training.global_batch_size * config_.data.sequence_length) /
        metrics.step_seconds;
    return metrics;
  }

  double save() {
    const Clock::time_point start = Clock::now();
    state_.common["trainer"] = to_json(progress());
    static_cast<void>(checkpointer_->save_async(step_, state_));
    saved_step_ = step_;
    return seconds_since(start);
  }

  int finish() {
    const io::SaveTicket last = checkpointer_->last();
    if (last.valid()) {
      last.wait();
    }
    if (console_) {
      console_->finish();
    }
    if (stopped_ && step_ < config_.training.steps) {
      say(fmt::format("stopped by signal after step {}, saved; run the same command to go on",
                      step_));
      return kStoppedEarly;
    }
    say(fmt::format("done: {} steps, last checkpoint of step {} in {}", step_, saved_step_,
                    config_.fsdp_config.checkpoint_dir.string()));
    return 0;
  }

  std::string checkpoint_text() const {
    const io::SaveTicket last = checkpointer_->last();
    return last.valid() ? fmt::format("step {} {}", last.step(), to_text(last.phase())) : "";
  }

  std::map<std::string, std::uint64_t> memory_kinds() const {
    return {
        {"parameters", memory_.parameters},     {"compute_parameters", memory_.compute_parameters},
        {"gradients", memory_.gradients},       {"optimizer_state", memory_.optimizer_state},
        {"gather_slots", memory_.gather_slots}, {"reduction_slots", memory_.reduction_slots}};
  }

  runtime::Runtime& runtime_;
  const TrainConfig& config_;
  comm::MeshComms comms_;
  std::optional<DataSource> data_;
  std::optional<fsdp::ShardedModel> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  dtensor::StateDict state_;
  fsdp::MemoryReport memory_;
  std::optional<io::Checkpointer> checkpointer_;
  std::optional<MetricsWriter> metrics_;
  std::optional<Console> console_;
  StopSignal stop_;
  std::int64_t step_ = 0;
  std::int64_t saved_step_ = 0;
  bool stopped_ = false;
};

}  // namespace

int run_training(runtime::Runtime& runtime, const TrainConfig& config) {
  return Trainer(runtime, config).run();
}

}  // namespace sherd::train
