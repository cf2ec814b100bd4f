#include "comm/nccl/nccl_api.hpp"

#include <fmt/format.h>

#include <exception>

#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

namespace sherd::comm::nccl {
namespace {

void report(const char* call, const char* problem) noexcept {
  try {
    log::warning(fmt::format("{} failed: {}", call, problem));
  } catch (...) {  // the message did not fit in memory
  }
}

void report(ncclResult_t code, const char* call) noexcept {
  if (code != ncclSuccess) {
    report(call, ncclGetErrorString(code));
  }
}

void report(cudaError_t code, const char* call) noexcept {
  if (code != cudaSuccess) {
    report(call, cudaGetErrorString(code));
  }
}

}  // namespace

void check(ncclResult_t code, const char* call, SourceLocation at) {
  if (code != ncclSuccess) {
    throw CommError(fmt::format("{} failed: {}", call, ncclGetErrorString(code)), at);
  }
}

void check(cudaError_t code, const char* call, SourceLocation at) {
  if (code != cudaSuccess) {
    throw DeviceError(fmt::format("{} failed: {}", call, cudaGetErrorString(code)), at);
  }
}

void CommTraits::close(Raw raw) noexcept {
  if (std::uncaught_exceptions() == 0) {
    report(ncclCommDestroy(raw), "ncclCommDestroy");
  } else {
    report(ncclCommAbort(raw), "ncclCommAbort");
  }
}

void StreamTraits::close(Raw raw) noexcept { report(cudaStreamDestroy(raw), "cudaStreamDestroy"); }

void EventTraits::close(Raw raw) noexcept { report(cudaEventDestroy(raw), "cudaEventDestroy"); }

void DeviceMemoryTraits::close(Raw raw) noexcept { report(cudaFree(raw), "cudaFree"); }

std::string version() {
  int number = 0;
  check(ncclGetVersion(&number), "ncclGetVersion");
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

ncclUniqueId make_unique_id() {
  ncclUniqueId id = {};
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return id;
}

CommHandle init_rank(int size, const ncclUniqueId& id, int rank) {
  ncclComm_t raw = nullptr;
  check(ncclCommInitRank(&raw, size, id, rank), "ncclCommInitRank");
  return CommHandle(raw);
}

void check_async(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  if (state != ncclInProgress) {
    check(state, "an NCCL collective");
  }
}

void all_gather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                ncclComm_t comm, cudaStream_t stream) {
  check(ncclAllGather(send, receive, count, type, comm, stream), "ncclAllGather");
}

void reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  check(ncclReduceScatter(send, receive, count, type, op, comm, stream), "ncclReduceScatter");
}

void all_reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  check(ncclAllReduce(send, receive, count, type, op, comm, stream), "ncclAllReduce");
}

void broadcast(void* data, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
               cudaStream_t stream) {
  check(ncclBroadcast(data, data, count, type, root, comm, stream), "ncclBroadcast");
}

StreamHandle make_stream() {
  cudaStream_t raw = nullptr;
  check(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return StreamHandle(raw);
}

EventHandle record_event(cudaStream_t stream) {
  cudaEvent_t raw = nullptr;
  check(cudaEventCreateWithFlags(&raw, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  EventHandle event(raw);
  check(cudaEventRecord(raw, stream), "cudaEventRecord");
  return event;
}

bool reached(cudaEvent_t event) {
  const cudaError_t state = cudaEventQuery(event);
  if (state == cudaErrorNotReady) {
    return false;
  }
  check(state, "cudaEventQuery");
  return true;
}

DeviceMemory allocate(std::size_t bytes) {
  void* raw = nullptr;
  check(cudaMalloc(&raw, bytes), "cudaMalloc");
  return DeviceMemory(raw);
}

void copy_to_device(void* device, const void* host, std::size_t bytes) {
  check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

void copy_to_host(void* host, const void* device, std::size_t bytes) {
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

}  // namespace sherd::comm::nccl
