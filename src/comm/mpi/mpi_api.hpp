#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <string>

#include "comm/mpi/mpi_handles.hpp"
#include "sherd/base/source_location.hpp"

/// The MPI calls of the library, one function each. All throw CommError with MPI's own text; the
/// communicators made here return errors instead of ending the process.
namespace sherd::comm::mpi {

void check(int code, const char* call, SourceLocation at = SourceLocation::current());

/// "Open MPI 4.1.4": the first words of what the library says of itself.
[[nodiscard]] std::string library_version();

/// Whether MPI was started with MPI_THREAD_MULTIPLE.
[[nodiscard]] bool several_threads_may_call();

[[nodiscard]] CommHandle comm_dup(MPI_Comm comm);
[[nodiscard]] CommHandle comm_split(MPI_Comm comm, int color, int key);
/// The ranks of `comm` that share memory with this one.
[[nodiscard]] CommHandle comm_split_shared(MPI_Comm comm);
[[nodiscard]] int comm_rank(MPI_Comm comm);
[[nodiscard]] int comm_size(MPI_Comm comm);
/// The largest tag that may be used.
[[nodiscard]] int tag_limit(MPI_Comm comm);

[[nodiscard]] MPI_Request isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                                MPI_Comm comm);
[[nodiscard]] MPI_Request irecv(void* data, int count, MPI_Datatype type, int from, int tag,
                                MPI_Comm comm);
[[nodiscard]] MPI_Request ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm);
[[nodiscard]] MPI_Request ibarrier(MPI_Comm comm);
/// The rank a message with `tag` has come from and not been received, or -1.
[[nodiscard]] int iprobe_any(int tag, MPI_Comm comm);
void recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm);
[[nodiscard]] bool testall(std::span<MPI_Request> requests);
void bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm);
void allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm);
void barrier(MPI_Comm comm);

/// The twins for destructors: nothing is thrown, a failure is only logged.
namespace nothrow {
void comm_free(MPI_Comm comm) noexcept;
/// Whether MPI is between its start and its end.
[[nodiscard]] bool running() noexcept;
}  // namespace nothrow

}  // namespace sherd::comm::mpi
