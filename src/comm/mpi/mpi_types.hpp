#pragma once

#include <mpi.h>

#include "sherd/base/dtype.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm::mpi {

/// The MPI type elements travel as. f16 and bf16 travel as 16-bit integers: MPI cannot add them.
[[nodiscard]] MPI_Datatype type_of(DType dtype);
[[nodiscard]] MPI_Op op_of(ReduceOp op);
/// Whether MPI's own reductions give what the contract asks for.
[[nodiscard]] bool mpi_can_reduce(DType dtype) noexcept;

}  // namespace sherd::comm::mpi
