#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sherd/dtensor/sharded_parameters.hpp"

namespace sherd::optim {

/// State of one optimizer slot (exp_avg, ...) for every shard: one 1-D tensor a shard.
using StateSlot = std::vector<Tensor>;

/// Updates the shards of a sharded model. `parameters` must outlive it. step() is collective only
/// in what begin_update() is; the arithmetic is local and elementwise.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every shard with the gradients and the scale its parameters hold.
  void step();
  /// `hook(i)` is called before shard i and its state are changed, for each shard of every step():
  /// whoever still reads the old values (a save) is waited for there. Empty: none.
  void set_update_hook(std::function<void(std::size_t shard)> hook) { hook_ = std::move(hook); }
  void zero_grad() { parameters_.zero_grad(); }

  [[nodiscard]] double learning_rate() const noexcept { return learning_rate_; }
  void set_learning_rate(double value) noexcept { learning_rate_ = value; }
  /// Updates done so far.
  [[nodiscard]] std::int64_t step_count() const noexcept { return step_count_; }
  void set_step_count(std::int64_t value) noexcept { step_count_ = value; }

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Named state, in the order of the parameters' shards; views that loading writes through.
  [[nodiscard]] const std::map<std::string, StateSlot>& state() const noexcept { return state_; }
  [[nodiscard]] std::size_t state_bytes() const noexcept;
  [[nodiscard]] const ShardedParameters& parameters() const noexcept { return parameters_; }

 protected:
  Optimizer(ShardedParameters& parameters, double learning_rate,
            const std::vector<std::string>& slots);

  /// Updates elements [begin, begin + count) of shard `index` (a range over which decay is one
  /// value).
  virtual void update(std::size_t index, std::int64_t begin, std::int64_t count, bool decay) = 0;
  [[nodiscard]] const StateSlot& slot(const std::string& name) const { return state_.at(name); }

  bool decay_matrices_only_ = false;

 private:
  ShardedParameters& parameters_;
  double learning_rate_;
  std::int64_t step_count_ = 0;
  std::map<std::string, StateSlot> state_;
  std::function<void(std::size_t)> hook_;

  void update_shard(std::size_t index);
};

/// Which parameters weight decay touches.
enum class Decay : std::uint8_t { all, matrices };

}  // namespace sherd::optim
