#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/measure.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::bench {

/// The buffers of all cases of one size, f32: a whole buffer for input and one for output in
/// private memory, and the same in memory that the ranks share (null where they do not).
class Buffers {
 public:
  Buffers(comm::Communicator& comm, std::size_t bytes);

  [[nodiscard]] std::size_t count() const { return count_; }  ///< elements of a rank's piece
  [[nodiscard]] std::size_t bytes() const { return count_ * ranks_ * sizeof(float); }
  [[nodiscard]] float* in() { return in_.data(); }
  [[nodiscard]] float* out() { return out_.data(); }
  [[nodiscard]] bool shared() const { return region_ != nullptr; }
  /// One buffer, the same memory on all ranks.
  [[nodiscard]] float* common() const;
  /// This rank's piece of it.
  [[nodiscard]] float* common_piece() const;
  /// This rank's own buffer, readable by all.
  [[nodiscard]] float* own() const;

 private:
  std::size_t ranks_;
  std::size_t rank_;
  std::size_t count_;
  std::vector<float> in_;
  std::vector<float> out_;
  std::unique_ptr<comm::SharedRegion> region_;
};

/// An operation with its contenders: ours from and to private memory, the stock MPI call on the
/// same buffers, memcpy of the whole buffer by every rank at once; and where ranks share memory
/// - all_gather "shared": from private shards into one buffer that all ranks see;
///   "in_place": the shards lie in it already, so that the gather is a synchronisation;
/// - reduce_scatter "shared": contributions lie where the others can read them.
struct Case {
  std::string operation;
  std::vector<Contender> contenders;
};

[[nodiscard]] std::vector<Case> make_cases(comm::Communicator& comm, Buffers& buffers);

}  // namespace sherd::bench
