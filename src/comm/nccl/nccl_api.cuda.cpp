#include "comm/nccl/nccl_api.hpp"

#include <fmt/format.h>

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

void report(cudaError_t code, const char* call) noexcept {
  if (code != cudaSuccess) {
    report(call, cudaGetErrorString(code));
  }
}

}  // namespace

void check(cudaError_t code, const char* call, SourceLocation at) {
  if (code != cudaSuccess) {
    throw DeviceError(fmt::format("{} failed: {}", call, cudaGetErrorString(code)), at);
  }
}

void StreamTraits::close(Raw raw) noexcept { report(cudaStreamDestroy(raw), "cudaStreamDestroy"); }

void EventTraits::close(Raw raw) noexcept { report(cudaEventDestroy(raw), "cudaEventDestroy"); }

void DeviceMemoryTraits::close(Raw raw) noexcept { report(cudaFree(raw), "cudaFree"); }

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
