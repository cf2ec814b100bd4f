#include "comm/nccl/nccl_library.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstring>

namespace sherd::comm::nccl {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(UniqueId));
static_assert(static_cast<int>(Result::cuda_error) == ncclUnhandledCudaError);
static_assert(static_cast<int>(Result::invalid_usage) == ncclInvalidUsage);
static_assert(static_cast<int>(Result::in_progress) == ncclInProgress);

/// A result of a later NCCL is an internal error to this build.
Result result_of(ncclResult_t code) {
  return code >= 0 && code <= ncclInProgress ? static_cast<Result>(code) : Result::internal_error;
}

ncclComm_t raw(Library::Comm* comm) { return reinterpret_cast<ncclComm_t>(comm); }
cudaStream_t raw(void* stream) { return static_cast<cudaStream_t>(stream); }

ncclUniqueId raw(const UniqueId& id) {
  ncclUniqueId out = {};
  std::memcpy(&out, id.bytes.data(), sizeof out);
  return out;
}

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return ncclFloat64;
    case DType::f32:
      return ncclFloat32;
    case DType::f16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i64:
      return ncclInt64;
    case DType::i32:
      return ncclInt32;
    case DType::u16:  // moved as bytes: see NcclCommunicator
    case DType::u8:
      break;
  }
  return ncclUint8;
}

ncclRedOp_t op_of(ReduceOp op) {
  return op == ReduceOp::sum ? ncclSum : (op == ReduceOp::max ? ncclMax : ncclMin);
}

class LinkedLibrary final : public Library {
 public:
  Result make_id(UniqueId& id) override {
    ncclUniqueId made = {};
    const ncclResult_t code = ncclGetUniqueId(&made);
    std::memcpy(id.bytes.data(), &made, sizeof made);
    return result_of(code);
  }

  Result init(Comm*& comm, int size, const UniqueId& id, int rank) override {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t made = nullptr;
    const ncclResult_t code = ncclCommInitRankConfig(&made, size, raw(id), rank, &config);
    comm = reinterpret_cast<Comm*>(made);
    return result_of(code);
  }

  Result async_error(Comm* comm, Result& state) override {
    ncclResult_t code = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(raw(comm), &code);
    state = result_of(code);
    return result_of(asked);
  }
  Result finalize(Comm* comm) override { return result_of(ncclCommFinalize(raw(comm))); }
  Result destroy(Comm* comm) override { return result_of(ncclCommDestroy(raw(comm))); }
  Result abort(Comm* comm) override { return result_of(ncclCommAbort(raw(comm))); }

  Result all_gather(const void* send, void* receive, std::size_t count, DType dtype, Comm* comm,
                    void* stream) override {
    return result_of(ncclAllGather(send, receive, count, type_of(dtype), raw(comm), raw(stream)));
  }
  Result reduce_scatter(const void* send, void* receive, std::size_t count, DType dtype,
                        ReduceOp op, Comm* comm, void* stream) override {
    return result_of(
        ncclReduceScatter(send, receive, count, type_of(dtype), op_of(op), raw(comm), raw(stream)));
  }
  Result all_reduce(const void* send, void* receive, std::size_t count, DType dtype, ReduceOp op,
                    Comm* comm, void* stream) override {
    return result_of(
        ncclAllReduce(send, receive, count, type_of(dtype), op_of(op), raw(comm), raw(stream)));
  }
  Result broadcast(void* data, std::size_t count, DType dtype, int root, Comm* comm,
                   void* stream) override {
    return result_of(
        ncclBroadcast(data, data, count, type_of(dtype), root, raw(comm), raw(stream)));
  }

  std::string explain(Result result, Comm* comm) override {
    const std::string meaning = ncclGetErrorString(static_cast<ncclResult_t>(result));
    const char* detail = ncclGetLastError(raw(comm));
    return detail == nullptr || *detail == '\0' ? meaning : fmt::format("{}: {}", meaning, detail);
  }
};

}  // namespace

Library& linked_library() {
  static LinkedLibrary library;
  return library;
}

std::string linked_version() {
  int number = 0;
  if (ncclGetVersion(&number) != ncclSuccess) {
    return "of an unknown version";
  }
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace sherd::comm::nccl
