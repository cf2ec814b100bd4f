#pragma once

#include <memory>
#include <vector>

#include "fsdp/level_comms.hpp"
#include "fsdp/state_plan.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::fsdp {

/// Keeps the master and compute values a rank holds of every buffer and makes whole buffers of
/// them. A gather goes through unshard() (issue), whole() (wait and use), reshard() (give back);
/// each update of a buffer is announced by publish(). All but poll() are called in the same order
/// on every rank.
class ParameterStore {
 public:
  virtual ~ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  /// What this rank holds of a buffer at rest.
  [[nodiscard]] Range range(std::size_t buffer) const {
    return held(set_.buffers[buffer], plan_.cut, at_);
  }
  /// This rank's master values, 1-D.
  [[nodiscard]] const Tensor& master(std::size_t buffer) const { return masters_[buffer]; }
  /// Where the rounded values go; undefined when forward reads the master itself.
  [[nodiscard]] const Tensor& compute(std::size_t buffer) const { return computes_[buffer]; }

  virtual void unshard(std::size_t group) = 0;
  /// The whole buffer in the compute dtype; valid until reshard().
  [[nodiscard]] virtual Tensor whole(std::size_t buffer) = 0;
  /// Whether whole() would not wait now. Local.
  [[nodiscard]] virtual bool ready(std::size_t group) = 0;
  virtual void reshard(std::size_t group) = 0;
  /// Whether two groups take turns in one place.
  [[nodiscard]] virtual bool share_slot(std::size_t, std::size_t) const { return false; }

  /// This rank's part of `buffer` holds new values (master and compute): gathers from now on read
  /// them.
  virtual void publish(std::size_t buffer) = 0;

  /// Lets what is under way progress. Local, any time.
  virtual void poll() {}
  /// Waits for what is under way.
  virtual void finish() {}

  [[nodiscard]] std::size_t master_bytes() const { return total_bytes(masters_); }
  [[nodiscard]] std::size_t compute_bytes() const { return total_bytes(computes_); }
  [[nodiscard]] virtual std::size_t slot_bytes() const { return 0; }

 protected:
  ParameterStore(const GroupSet& set, const StatePlan& plan, Position at, TrafficReport& traffic)
      : set_(set), plan_(plan), at_(at), traffic_(traffic) {}

  /// Memory of its own for what this rank holds of one buffer: the master and, where the dtypes
  /// differ, the rounded values.
  void add_private(const FlatBuffer& buffer);
  /// The values other ranks are to have.
  [[nodiscard]] const Tensor& source(std::size_t buffer) const {
    return computes_[buffer].defined() ? computes_[buffer] : masters_[buffer];
  }
  void count(LinkLevel level, std::size_t buffer);

  const GroupSet& set_;
  const StatePlan& plan_;
  Position at_;
  std::vector<Tensor> masters_;   // by buffer
  std::vector<Tensor> computes_;  // by buffer

 private:
  static std::size_t total_bytes(const std::vector<Tensor>& tensors);

  TrafficReport& traffic_;
};

/// The store the plan asks for. Collective. `comms` must outlive it.
[[nodiscard]] std::unique_ptr<ParameterStore> make_parameter_store(const GroupSet& set,
                                                                   const StatePlan& plan,
                                                                   LevelComms& comms,
                                                                   TrafficReport& traffic);

/// One a GatherKind.
[[nodiscard]] std::unique_ptr<ParameterStore> make_whole_store(const GroupSet& set,
                                                               const StatePlan& plan, Position at,
                                                               TrafficReport& traffic);
/// Every buffer lies whole in one block of the node, each rank's part in its place. What comes from
/// other nodes arrives after every update; inside the node gathering is a matter of knowing that
/// everybody's part is current.
[[nodiscard]] std::unique_ptr<ParameterStore> make_resident_store(const GroupSet& set,
                                                                  const StatePlan& plan,
                                                                  LevelComms& comms,
                                                                  TrafficReport& traffic);
/// Groups take turns in a fixed ring of slots that a node's ranks share: each rank fetches its
/// share of a group from the other nodes into its place there.
[[nodiscard]] std::unique_ptr<ParameterStore> make_ring_store(const GroupSet& set,
                                                              const StatePlan& plan,
                                                              LevelComms& comms,
                                                              TrafficReport& traffic);
/// The same ring in memory of each rank's own, filled by collectives on both levels.
[[nodiscard]] std::unique_ptr<ParameterStore> make_separate_store(const GroupSet& set,
                                                                  const StatePlan& plan,
                                                                  LevelComms& comms,
                                                                  TrafficReport& traffic);

}  // namespace sherd::fsdp
