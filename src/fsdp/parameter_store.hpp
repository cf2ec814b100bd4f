#pragma once

#include <memory>
#include <vector>

#include "fsdp/group.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::fsdp {

/// Keeps the master and compute values of every buffer's piece and makes whole buffers of them.
/// A gather goes through unshard() (issue), whole() (wait and use), reshard() (give back); each
/// update of a piece is announced by publish().
class ParameterStore {
 public:
  virtual ~ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  /// First buffer element the master of this rank starts at, and how many it holds.
  [[nodiscard]] virtual std::int64_t first(std::size_t buffer) const = 0;
  /// This rank's master values, 1-D.
  [[nodiscard]] const Tensor& master(std::size_t buffer) const { return masters_[buffer]; }
  /// Where the rounded values go; undefined when whole() reads the master itself.
  [[nodiscard]] const Tensor& compute(std::size_t buffer) const { return computes_[buffer]; }

  virtual void unshard(std::size_t group) = 0;
  /// The whole buffer in the compute dtype; valid until reshard().
  [[nodiscard]] virtual Tensor whole(std::size_t buffer) = 0;
  virtual void reshard(std::size_t group) = 0;
  /// Whether two groups take turns in one place.
  [[nodiscard]] virtual bool share_slot(std::size_t, std::size_t) const { return false; }

  /// The piece of `buffer` holds new values (master and compute): gathers from now on read them.
  virtual void publish(std::size_t buffer) = 0;

  [[nodiscard]] std::size_t master_bytes() const { return total_bytes(masters_); }
  [[nodiscard]] std::size_t compute_bytes() const { return total_bytes(computes_); }
  [[nodiscard]] virtual std::size_t gather_slot_bytes() const { return 0; }

 protected:
  ParameterStore() = default;
  /// Memory of its own for one buffer's piece: the master and, where the dtypes differ, the rounded
  /// values.
  void add_private_piece(std::int64_t numel, const MixedPrecisionPolicy& policy);

  std::vector<Tensor> masters_;   // by buffer
  std::vector<Tensor> computes_;  // by buffer

 private:
  static std::size_t total_bytes(const std::vector<Tensor>& tensors);
};

/// Every rank holds everything.
[[nodiscard]] std::unique_ptr<ParameterStore> make_whole_store(const GroupSet& set,
                                                               const MixedPrecisionPolicy& policy);
/// The pieces of a node's ranks lie side by side in one shared block: a whole buffer is there at
/// all times, and gathering it is a matter of knowing that everybody has written the current
/// values.
[[nodiscard]] std::unique_ptr<ParameterStore> make_shared_store(
    const GroupSet& set, const MixedPrecisionPolicy& policy, comm::Communicator& world,
    std::unique_ptr<comm::SharedRegion> region);
/// Whole buffers are gathered into a fixed ring of private slots. `keep_all`: one slot a group.
[[nodiscard]] std::unique_ptr<ParameterStore> make_gather_store(const GroupSet& set,
                                                                const MixedPrecisionPolicy& policy,
                                                                comm::Communicator& world,
                                                                std::size_t ring);

/// Bytes the shared block needs.
[[nodiscard]] std::size_t shared_store_bytes(const GroupSet& set,
                                             const MixedPrecisionPolicy& policy);

}  // namespace sherd::fsdp
