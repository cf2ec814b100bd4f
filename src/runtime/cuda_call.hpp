#pragma once

#include <cuda_runtime_api.h>

#include "sherd/base/source_location.hpp"

namespace sherd::runtime::cuda {

/// Throws DeviceError naming `call` and what CUDA says.
void check(cudaError_t code, const char* call, SourceLocation at = SourceLocation::current());
/// The same as a warning, for where nothing may be thrown.
void report(cudaError_t code, const char* call) noexcept;

}  // namespace sherd::runtime::cuda
