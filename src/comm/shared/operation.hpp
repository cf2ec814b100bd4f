#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sherd/base/dtype.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm {

using OperationKind = CollectiveKind;

/// What one rank believes the ranks are doing together. Written into shared memory beside the data,
/// so that ranks that disagree find out instead of waiting for ever.
struct Operation {
  OperationKind kind = OperationKind::none;
  DType dtype = DType::u8;
  ReduceOp op = ReduceOp::sum;
  std::int32_t root = 0;
  std::uint64_t count = 0;
  // Where this rank's buffer is, if the others can read it in place (not compared).
  std::int64_t region = -1;
  std::uint64_t offset = 0;

  [[nodiscard]] bool same_as(const Operation& other) const noexcept {
    return kind == other.kind && dtype == other.dtype && op == other.op && root == other.root &&
           count == other.count;
  }
};

/// "reduce_scatter of 1000 x f32 (sum)".
[[nodiscard]] std::string to_string(const Operation& operation);

}  // namespace sherd::comm
