#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sherd::fsdp {

/// Bytes one rank holds, by kind; all of it from construction to the end. Of memory a node shares,
/// a rank counts its even part.
struct MemoryReport {
  std::size_t parameters = 0;  ///< masters
  std::size_t compute_parameters =
      0;                      ///< the same rounded to param_dtype (0 when that is the master)
  std::size_t gradients = 0;  ///< main gradients, in accumulate_dtype
  std::size_t partial_gradients = 0;  ///< sums inside the node that wait for the last micro-batch
  std::size_t optimizer_state = 0;
  std::size_t gather_slots = 0;     ///< whole parameters and node blocks beyond the shards
  std::size_t reduction_slots = 0;  ///< whole gradients on their way through the node
  std::size_t cross_slots = 0;      ///< gradients on their way between nodes
  std::size_t ignored = 0;          ///< parameters the engine leaves whole, and their gradients
  friend bool operator==(const MemoryReport&, const MemoryReport&) = default;
};

/// The kinds in order with their names, for tables and metrics.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> by_kind(const MemoryReport& report);
[[nodiscard]] std::size_t total_bytes(const MemoryReport& report);

/// Inside a node, or between nodes.
enum class LinkLevel : std::uint8_t { node, cross };
enum class Collective : std::uint8_t { all_gather, reduce_scatter, all_reduce };

/// Calls, and bytes this rank sends in them: (n-1) times the piece for all_gather and
/// reduce_scatter, twice that of an n-th of the buffer for all_reduce.
struct Traffic {
  std::int64_t calls = 0;
  std::size_t bytes = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Traffic by level and operation. Inside a node that shares memory nothing is sent: peers read
/// what is counted here.
class TrafficReport {
 public:
  [[nodiscard]] Traffic& at(LinkLevel level, Collective collective) {
    return entries_[static_cast<std::size_t>(level)][static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] const Traffic& at(LinkLevel level, Collective collective) const {
    return entries_[static_cast<std::size_t>(level)][static_cast<std::size_t>(collective)];
  }
  /// Counts one call over `ranks` on a piece (all_gather, reduce_scatter) or a buffer (all_reduce)
  /// of `bytes`; nothing when ranks is 1.
  void add(LinkLevel level, Collective collective, int ranks, std::size_t bytes);
  [[nodiscard]] std::size_t bytes(LinkLevel level) const;
  /// What was added since `earlier`.
  [[nodiscard]] TrafficReport since(const TrafficReport& earlier) const;
  friend bool operator==(const TrafficReport&, const TrafficReport&) = default;

 private:
  std::array<std::array<Traffic, 3>, 2> entries_{};
};

struct GroupReport {
  std::string name;  ///< "" is the root group
  std::int64_t parameters = 0;
  std::int64_t trainable = 0;  ///< of them
  std::int64_t buffer_numel = 0;
  std::int64_t piece_numel = 0;
};

}  // namespace sherd::fsdp
