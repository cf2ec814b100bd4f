#include "comm/nccl/nccl_backend.hpp"

#include <cstdlib>

#include "comm/nccl/nccl_communicator.hpp"
#include "comm/nccl/nccl_library.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::comm {

BackendStatus nccl_status() {
  if (std::getenv("SHERD_DISABLE_NCCL") != nullptr) {
    return {"nccl", false, "disabled by SHERD_DISABLE_NCCL"};
  }
  const runtime::DeviceStatus device = runtime::cuda_status();
  if (!device.available) {
    return {"nccl", false, device.reason};
  }
  return {"nccl", true, "NCCL " + nccl::linked_version()};
}

/// The ranks first ask each other whether all of them can: one that cannot would leave the others
/// waiting inside NCCL.
std::unique_ptr<Communicator> make_nccl(Communicator& bootstrap) {
  const BackendStatus status = nccl_status();
  std::int32_t all_can = status.available ? 1 : 0;
  bootstrap.all_reduce(&all_can, &all_can, 1, DType::i32, ReduceOp::min).wait();
  if (all_can == 0) {
    throw ConfigError("backend nccl is not there: " +
                      (status.available ? "another rank cannot use it" : status.reason));
  }
  runtime::Device* device = runtime::current_device();
  expect(device != nullptr && device->description().kind == "cuda",
         "backend nccl works on memory of a CUDA device, and this thread has none");
  return std::make_unique<nccl::NcclCommunicator>(nccl::linked_library(), bootstrap.duplicate(),
                                                  device->shared_from_this());
}

}  // namespace sherd::comm
