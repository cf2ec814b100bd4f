#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sherd/comm/agree.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/config/train_config.hpp"
#include "sherd/data/data_source.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/io/folder_owner.hpp"
#include "sherd/optim/loss_scaler.hpp"
#include "sherd/optim/optimizer.hpp"
#include "sherd/runtime/device.hpp"
#include "sherd/runtime/runtime.hpp"
#include "sherd/train/console.hpp"
#include "sherd/train/metrics.hpp"
#include "sherd/train/stop_signal.hpp"
#include "sherd/weights/hf_weights.hpp"
#include "train/state.hpp"

namespace sherd::train {

/// One run of `sherd train`: everything it holds, made and resumed by the constructor (collective).
class TrainingRun {
 public:
  TrainingRun(runtime::Runtime& runtime, const config::TrainConfig& config);

  /// Steps until all are done or a signal came; returns the exit code. Collective.
  int run();

 private:
  // setup.cpp
  void own_log_folder();
  void write_config();
  void open_data();
  void open_weights();
  void make_sharded_model();
  void fill_from_weights();
  void refuse_to_overwrite();
  void open_outputs();
  [[nodiscard]] Progress progress() const;
  void say(const std::string& text);

  // resume.cpp
  void look_for_stored_run();
  [[nodiscard]] std::optional<io::LoadReport> load_state();
  [[nodiscard]] bool resume();

  // run.cpp
  [[nodiscard]] std::vector<Tensor> forward_backward();
  [[nodiscard]] StepMetrics do_step();
  [[nodiscard]] double loss_scale() const { return scaler_ ? scaler_->scale() : 1.0; }
  void wait_for_staging(std::size_t shard);
  void update(double loss, double norm, double rate);
  [[nodiscard]] bool save_is_due() const;
  double save();
  void prepare_saves();
  void start_save();
  void settle_last_save();
  void poll_checkpoints();
  void tolerate_failed_save(const std::function<void()>& work);
  int finish();
  [[nodiscard]] bool nothing_learnt();
  void finish_saves();
  [[nodiscard]] std::string checkpoint_text() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> memory_kinds() const;
  [[nodiscard]] comm::Communicator& world() { return *comms_.world; }
  [[nodiscard]] comm::Ranks ranks() { return {comms_.world.get(), &comms_.mesh}; }

  runtime::Runtime& runtime_;
  const config::TrainConfig& config_;
  std::shared_ptr<runtime::Device> device_;  // null: host memory
  std::optional<runtime::DeviceScope> on_device_;
  comm::MeshComms comms_;
  std::optional<data::DataSource> data_;
  std::string data_text_;                      // what it is
  std::optional<weights::HfWeights> weights_;  // until they are read
  std::optional<fsdp::ShardedModel> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<optim::LossScaler> scaler_;  // fp16 only
  dtensor::StateDict state_;
  fsdp::MemoryReport memory_;
  std::optional<io::FolderOwner> log_owner_;
  std::optional<io::Checkpointer> checkpointer_;
  std::optional<MetricsWriter> metrics_;
  std::optional<Console> console_;
  StopSignal stop_;
  std::int64_t step_ = 0;
  std::int64_t saved_step_ = 0;
  double update_stall_ = 0.0;  // seconds this step's update waited for a save's copying
  std::int64_t updates_ = 0;   // that this process took
  std::int64_t left_out_ = 0;  // and those it did not
  bool may_resume_ = false;
  bool stopped_ = false;
};

}  // namespace sherd::train
