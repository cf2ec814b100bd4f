#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "sherd/base/source_location.hpp"
#include "sherd/base/unique_handle.hpp"

/// The CUDA calls the backend needs, one function each; failures are DeviceErrors.
namespace sherd::comm::nccl {

void check(cudaError_t code, const char* call, SourceLocation at = SourceLocation::current());

struct StreamTraits {
  using Raw = cudaStream_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept;
};
using StreamHandle = UniqueHandle<StreamTraits>;

struct EventTraits {
  using Raw = cudaEvent_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept;
};
using EventHandle = UniqueHandle<EventTraits>;

struct DeviceMemoryTraits {
  using Raw = void*;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept;
};
using DeviceMemory = UniqueHandle<DeviceMemoryTraits>;

/// A stream that does not wait for the default stream.
[[nodiscard]] StreamHandle make_stream();
/// An event at the present end of the stream.
[[nodiscard]] EventHandle record_event(cudaStream_t stream);
[[nodiscard]] bool reached(cudaEvent_t event);
[[nodiscard]] DeviceMemory allocate(std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);
void copy_to_host(void* host, const void* device, std::size_t bytes);

}  // namespace sherd::comm::nccl
