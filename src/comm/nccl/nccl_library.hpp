#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sherd/base/dtype.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm::nccl {

/// What names a communicator before it exists; made by one rank, given to all.
struct UniqueId {
  std::array<std::byte, 128> bytes = {};
};

/// NCCL's results, with its numbers.
enum class Result : std::uint8_t {
  success,
  cuda_error,
  system_error,
  internal_error,
  invalid_argument,
  invalid_usage,
  remote_error,
  in_progress
};

/// The functions of NCCL that the backend uses, so that what follows from their results is tested
/// where there is no GPU. Communicators never block: any call may answer `in_progress`, and
/// async_error() says when it is done. `stream` is a CUDA stream. None of them throws.
class Library {
 public:
  /// NCCL's own.
  struct Comm;

  virtual ~Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  virtual Result make_id(UniqueId& id) = 0;
  /// Begins to connect; sets `comm` also when that is not finished.
  virtual Result init(Comm*& comm, int size, const UniqueId& id, int rank) = 0;
  virtual Result async_error(Comm* comm, Result& state) = 0;
  virtual Result finalize(Comm* comm) = 0;
  virtual Result destroy(Comm* comm) = 0;
  virtual Result abort(Comm* comm) = 0;

  virtual Result all_gather(const void* send, void* receive, std::size_t count, DType dtype,
                            Comm* comm, void* stream) = 0;
  virtual Result reduce_scatter(const void* send, void* receive, std::size_t count, DType dtype,
                                ReduceOp op, Comm* comm, void* stream) = 0;
  virtual Result all_reduce(const void* send, void* receive, std::size_t count, DType dtype,
                            ReduceOp op, Comm* comm, void* stream) = 0;
  virtual Result broadcast(void* data, std::size_t count, DType dtype, int root, Comm* comm,
                           void* stream) = 0;

  /// What a result means, with what NCCL said last about `comm` (may be null).
  [[nodiscard]] virtual std::string explain(Result result, Comm* comm) = 0;

 protected:
  Library() = default;
};

/// The NCCL this build is linked with.
[[nodiscard]] Library& linked_library();
/// "2.28.9".
[[nodiscard]] std::string linked_version();

}  // namespace sherd::comm::nccl
