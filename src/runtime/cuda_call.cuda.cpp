#include "runtime/cuda_call.hpp"

#include <fmt/format.h>

#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

namespace sherd::runtime::cuda {

void check(cudaError_t code, const char* call, SourceLocation at) {
  if (code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the runtime repeats an error until it is fetched
    throw DeviceError(fmt::format("{} failed: {}", call, cudaGetErrorString(code)), at);
  }
}

void report(cudaError_t code, const char* call) noexcept {
  if (code == cudaSuccess) {
    return;
  }
  try {
    log::warning(fmt::format("{} failed: {}", call, cudaGetErrorString(code)));
  } catch (...) {  // the message did not fit in memory
  }
}

}  // namespace sherd::runtime::cuda
