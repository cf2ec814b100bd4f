#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sherd::fsdp {

/// Bytes one rank holds, by kind. Of parameters in memory a node shares, a rank counts its own
/// piece; reduction slots are its own whole gradients there.
struct MemoryReport {
  std::size_t parameters = 0;  ///< master shard
  std::size_t compute_parameters =
      0;                      ///< the shard rounded to param_dtype (0 when it is the master)
  std::size_t gradients = 0;  ///< main gradient shard
  std::size_t optimizer_state = 0;
  std::size_t gather_slots = 0;     ///< whole groups, private to this rank
  std::size_t reduction_slots = 0;  ///< whole gradients of the groups in flight
  friend bool operator==(const MemoryReport&, const MemoryReport&) = default;
};

/// Bytes a rank sends for one optimizer step with one micro-batch, by collective.
struct TrafficReport {
  std::size_t all_gather = 0;
  std::size_t reduce_scatter = 0;
  std::size_t all_reduce = 0;
};

struct GroupReport {
  std::string name;  ///< "" is the root group
  std::int64_t parameters = 0;
  std::int64_t buffer_numel = 0;
  std::int64_t piece_numel = 0;
};

}  // namespace sherd::fsdp
