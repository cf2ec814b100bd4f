#include "comm/mpi/mpi_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sherd/base/error.hpp"

namespace sherd::comm::mpi {
namespace {

/// The first statement of a text: Open MPI adds its package after a comma, MPICH a stack of calls
/// on further lines, and a tab before its version.
std::string first_statement(std::string_view text) {
  std::string line(text.substr(0, text.find_first_of(",\n")));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

/// An owner at once, so that nothing leaks when the error handler cannot be set.
CommHandle with_errors_returned(MPI_Comm raw) {
  CommHandle comm(raw);
  check(MPI_Comm_set_errhandler(raw, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return comm;
}

}  // namespace

void check(int code, const char* call, SourceLocation at) {
  if (code == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(fmt::format("{} failed: {}", call, first_statement(text)), at);
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  return first_statement(text);
}

bool several_threads_may_call() {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  return level == MPI_THREAD_MULTIPLE;
}

CommHandle comm_dup(MPI_Comm comm) {
  MPI_Comm raw = MPI_COMM_NULL;
  check(MPI_Comm_dup(comm, &raw), "MPI_Comm_dup");
  return with_errors_returned(raw);
}

CommHandle comm_split(MPI_Comm comm, int color, int key) {
  MPI_Comm raw = MPI_COMM_NULL;
  check(MPI_Comm_split(comm, color, key, &raw), "MPI_Comm_split");
  return with_errors_returned(raw);
}

CommHandle comm_split_shared(MPI_Comm comm) {
  MPI_Comm raw = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &raw),
        "MPI_Comm_split_type");
  return with_errors_returned(raw);
}

int comm_rank(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int comm_size(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

int tag_limit(MPI_Comm comm) {
  int* limit = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, MPI_TAG_UB, &limit, &found), "MPI_Comm_get_attr");
  return found != 0 ? *limit : 32767;
}

MPI_Request isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(data, count, type, to, tag, comm, &request), "MPI_Isend");
  return request;
}

MPI_Request irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(data, count, type, from, tag, comm, &request), "MPI_Irecv");
  return request;
}

MPI_Request ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(data, count, type, root, comm, &request), "MPI_Ibcast");
  return request;
}

MPI_Request ibarrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  return request;
}

int iprobe_any(int tag, MPI_Comm comm) {
  int found = 0;
  MPI_Status status;
  check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &found, &status), "MPI_Iprobe");
  return found != 0 ? status.MPI_SOURCE : -1;
}

void recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm) {
  check(MPI_Recv(data, count, type, from, tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
}

bool testall(std::span<MPI_Request> requests) {
  int done = 0;
  check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
  return done != 0;
}

void bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  check(MPI_Bcast(data, count, type, root, comm), "MPI_Bcast");
}

void allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  check(MPI_Allreduce(send, receive, count, type, op, comm), "MPI_Allreduce");
}

void barrier(MPI_Comm comm) { check(MPI_Barrier(comm), "MPI_Barrier"); }

}  // namespace sherd::comm::mpi
