#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sherd/base/dtype.hpp"

namespace sherd::comm {

enum class ReduceOp : std::uint8_t { sum, max, min };

enum class CollectiveKind : std::uint8_t {
  none,
  all_gather,
  reduce_scatter,
  all_reduce,
  broadcast,
  barrier
};

/// One operation of a Communicator as its backend gets it, checked: buffers belong to the caller
/// and outlive the Work; counts as the Communicator's own operations have them.
struct Collective {
  CollectiveKind kind = CollectiveKind::none;
  const void* in = nullptr;  ///< shard of all_gather, full of reduce_scatter
  void* out = nullptr;       ///< full of all_gather, shard of reduce_scatter, data of broadcast
  std::size_t count = 0;
  DType dtype = DType::u8;
  ReduceOp op = ReduceOp::sum;
  int root = 0;

  [[nodiscard]] std::size_t bytes() const { return count * size_of(dtype); }
};

/// "all_gather", ...
[[nodiscard]] const char* name_of(CollectiveKind kind) noexcept;
/// "all_gather of 1000 x f32", "barrier": for messages.
[[nodiscard]] std::string describe(const Collective& collective);

}  // namespace sherd::comm
