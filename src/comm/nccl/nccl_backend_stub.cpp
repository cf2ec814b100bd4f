#include "comm/nccl/nccl_backend.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {

BackendStatus nccl_status() {
  return {"nccl", false,
          "not compiled in. Try: configure with -DSHERD_ENABLE_CUDA=ON "
          "-DSHERD_ENABLE_NCCL=ON"};
}

std::unique_ptr<Communicator> make_nccl(Communicator&) {
  throw ConfigError("backend nccl is not there: " + nccl_status().reason);
}

}  // namespace sherd::comm
