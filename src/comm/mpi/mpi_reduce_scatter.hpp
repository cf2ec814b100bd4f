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

/// Stages that give `out` = op over ranks of this rank's piece. Every rank sends each other rank
/// its piece directly, and adds what it receives in rank order; segments of bounded size, the next
/// one on its way while one is added. `out` may be this rank's own piece of `data`.
[[nodiscard]] std::vector<MpiWork::Stage> reduce_scatter_stages(const Exchange& exchange,
                                                                Pieces pieces, std::byte* out,
                                                                DType dtype, ReduceOp op,
                                                                StagingPool& pool);

}  // namespace sherd::comm::mpi
