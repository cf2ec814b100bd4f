#include "comm/mpi/mpi_types.hpp"

#include "sherd/base/error.hpp"

namespace sherd::comm::mpi {

MPI_Datatype type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f32:
      return MPI_FLOAT;
    case DType::i64:
      return MPI_INT64_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return MPI_UINT16_T;
    case DType::u8:
      return MPI_UINT8_T;
  }
  throw ArgumentError("MPI has no type for this dtype");
}

}  // namespace sherd::comm::mpi
