#pragma once

#include <vector>

#include "comm/memory/staging_pool.hpp"
#include "comm/mpi/mpi_exchange.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm::mpi {

/// Where the pieces of one rank's contribution lie: piece r starts at element `begin(r)`.
struct Pieces {
  const std::byte* data;
  std::vector<std::size_t> begins;  ///< by rank, in elements
  std::vector<std::size_t> counts;  ///< by rank
};

/// How many segments are under way at a time: the lag the stages below are made for. A rank that
/// only polls now and then still finds the next segments on their way.
inline constexpr std::size_t kSegmentsUnderway = 8;

/// Stages that give `out` = op over ranks of this rank's piece. Every rank sends each other rank
/// its piece directly, and adds what it receives in rank order; segments of bounded size, the next
/// ones on their way while one is added. `out` may be this rank's own piece of `data`.
[[nodiscard]] std::vector<MpiWork::Stage> reduce_scatter_stages(const Exchange& exchange,
                                                                Pieces pieces, std::byte* out,
                                                                DType dtype, ReduceOp op,
                                                                StagingPool& pool);

}  // namespace sherd::comm::mpi
