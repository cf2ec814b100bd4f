#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <string>

#include "sherd/base/source_location.hpp"
#include "sherd/base/unique_handle.hpp"

/// The NCCL calls of the library and the CUDA calls they need, one function each. NCCL's failures
/// are CommErrors, CUDA's are DeviceErrors.
namespace sherd::comm::nccl {

void check(ncclResult_t code, const char* call, SourceLocation at = SourceLocation::current());
void check(cudaError_t code, const char* call, SourceLocation at = SourceLocation::current());

/// Ended in an orderly way; aborted while an exception is on its way out, for the other ranks may
/// not come to an orderly end.
struct CommTraits {
  using Raw = ncclComm_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept;
};
using CommHandle = UniqueHandle<CommTraits>;

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

/// "2.28.9".
[[nodiscard]] std::string version();
[[nodiscard]] ncclUniqueId make_unique_id();
/// Collective over the ranks that have the same id.
[[nodiscard]] CommHandle init_rank(int size, const ncclUniqueId& id, int rank);
/// What has gone wrong with the communicator in the background.
void check_async(ncclComm_t comm);

void all_gather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                ncclComm_t comm, cudaStream_t stream);
void reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
void all_reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
void broadcast(void* data, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
               cudaStream_t stream);

/// A stream that does not wait for the default stream.
[[nodiscard]] StreamHandle make_stream();
/// An event at the present end of the stream.
[[nodiscard]] EventHandle record_event(cudaStream_t stream);
[[nodiscard]] bool reached(cudaEvent_t event);
[[nodiscard]] DeviceMemory allocate(std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);
void copy_to_host(void* host, const void* device, std::size_t bytes);

}  // namespace sherd::comm::nccl
