#include "sherd/comm/communicator.hpp"

/// A Work that is dropped on the spot would make the call blocking without saying so.
void sum(sherd::comm::Communicator& comm, float* data) {
#ifdef SHERD_MISUSE
  comm.all_reduce(data, data, 1, sherd::DType::f32, sherd::comm::ReduceOp::sum);
#else
  comm.all_reduce(data, data, 1, sherd::DType::f32, sherd::comm::ReduceOp::sum).wait();
#endif
}
