#pragma once

#include <mpi.h>

#include "sherd/base/dtype.hpp"

namespace sherd::comm::mpi {

/// The MPI type elements travel as. f16 and bf16 travel as 16-bit integers: MPI cannot add them.
[[nodiscard]] MPI_Datatype type_of(DType dtype);

}  // namespace sherd::comm::mpi
