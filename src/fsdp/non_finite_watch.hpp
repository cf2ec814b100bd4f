#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sherd/tensor/kernel/optimizer.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::fsdp {

/// Remembers the first non-finite gradient value this rank meets: where, whose, in which
/// micro-batch. Sums keep the answer to "is there one" for nothing; only then is it looked for.
class NonFiniteWatch {
 public:
  struct Place {
    int micro_batch = 0;
    int rank = -1;  // numbered as the world communicator; -1: a sum of finite values overflowed
    std::int64_t buffer = 0;
    std::int64_t element = 0;  // of the buffer
  };

  /// Ranks whose contributions the sources of check_sum() are, in order.
  void set_ranks(std::vector<int> ranks) { ranks_ = std::move(ranks); }
  void next_micro_batch() { ++micro_batch_; }
  void reset() {
    micro_batch_ = -1;
    first_.reset();
    looked_.clear();
  }

  /// A sum that starts at element `begin` of `buffer` came out non-finite.
  void found_in_sum(std::span<const Tensor> sources, const Tensor& sum, std::size_t buffer,
                    std::int64_t begin);
  /// Looks through one rank's gradient, starting at element `begin` of `buffer`. What a device has
  /// found is known after settle().
  void look(const Tensor& gradient, int rank, std::size_t buffer, std::int64_t begin);
  /// Reads what devices have found; waits for them.
  void settle();

  [[nodiscard]] const std::optional<Place>& first() const { return first_; }

 private:
  struct Look {
    kernel::PendingIndex index;
    Place place;  // of the first element
  };

  std::vector<int> ranks_;
  std::vector<Look> looked_;  // on a device, in order
  int micro_batch_ = -1;
  std::optional<Place> first_;
};

}  // namespace sherd::fsdp
