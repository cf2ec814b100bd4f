#pragma once

#include <memory>
#include <vector>

#include "fsdp/group.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::fsdp {

/// Takes whole gradients of one group at a time and leaves their sum over the ranks in the main
/// gradient of each buffer. begin() hands out the memory backward writes to, reduce() starts a
/// reduction, finish_all() ends all that are under way.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Whole gradient buffer of a trainable buffer, to be written by backward. Waits until its memory
  /// is free.
  [[nodiscard]] virtual Tensor begin(std::size_t buffer) = 0;
  /// Whether what begin() returned holds an earlier micro-batch's gradient that must be added to.
  [[nodiscard]] virtual bool adds_in_place(std::size_t buffer) const = 0;
  /// The gradient of `buffer` is complete on this rank.
  virtual void reduce(std::size_t buffer, bool last) = 0;
  virtual void finish_all() = 0;
  /// Whether two groups' whole gradients take turns in one place.
  [[nodiscard]] virtual bool share_slot(std::size_t, std::size_t) const { return false; }

  /// Forgets the main gradients: the next reduction overwrites.
  void zero();

  /// What the optimizer reads: this rank's piece (or the whole), master dtype.
  [[nodiscard]] const Tensor& main(std::size_t buffer) const { return mains_[buffer]; }
  /// Statistics of the part of the main gradient this rank answers for: together the ranks cover
  /// each element once. Valid after finish_all() of a last backward.
  [[nodiscard]] kernel::GradStats stats() const;

  [[nodiscard]] std::size_t main_bytes() const;
  [[nodiscard]] virtual std::size_t slot_bytes() const { return 0; }

 protected:
  explicit GradientReducer(const GroupSet& set)
      : set_(set), written_(set.buffers.size(), false), stats_(set.buffers.size()) {}

  const GroupSet& set_;
  std::vector<Tensor> mains_;  // by buffer; undefined for frozen ones
  std::vector<bool> written_;  // the main gradient holds something to add to
  std::vector<kernel::GradStats> stats_;
};

/// Every rank keeps whole gradients; the last backward sums them over the ranks (one rank:
/// nothing).
[[nodiscard]] std::unique_ptr<GradientReducer> make_whole_reducer(const GroupSet& set, DType dtype,
                                                                  comm::Communicator& world);
/// Whole gradients lie in a ring of slots in memory the node shares; each rank reads its piece out
/// of all of them.
[[nodiscard]] std::unique_ptr<GradientReducer> make_shared_reducer(
    const GroupSet& set, DType dtype, comm::Communicator& world, std::size_t ring,
    std::unique_ptr<comm::SharedRegion> region);
/// The same ring in private memory and one reduce-scatter a buffer.
[[nodiscard]] std::unique_ptr<GradientReducer> make_collective_reducer(const GroupSet& set,
                                                                       DType dtype,
                                                                       comm::Communicator& world,
                                                                       std::size_t ring);

/// Bytes one rank's ring of reduction slots takes.
[[nodiscard]] std::size_t reduction_ring_bytes(const GroupSet& set, DType dtype, std::size_t ring);

}  // namespace sherd::fsdp
