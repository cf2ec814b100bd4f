#include "sherd/base/error.hpp"
#include "tensor/kernel/cublaslt_matmul.hpp"

namespace sherd::kernel::cublaslt {

void multiply(runtime::Device&, const onednn::Product&, const void*, const void*, void*,
              const Batch&) {
  throw DeviceError("a product on a CUDA device in a build without CUDA");
}

std::string version() { return "not compiled in"; }

}  // namespace sherd::kernel::cublaslt
