#include <fmt/format.h>

#include <exception>

#include "comm/mpi/mpi_api.hpp"
#include "sherd/base/log.hpp"

namespace sherd::comm::mpi {
namespace {

void report(int code, const char* call) noexcept {
  if (code != MPI_SUCCESS) {
    try {
      log::warning(fmt::format("{} failed with MPI error {}", call, code));
    } catch (...) {  // the message did not fit in memory
    }
  }
}

bool may_close() noexcept { return nothrow::running() && std::uncaught_exceptions() == 0; }

}  // namespace

namespace nothrow {

void comm_free(MPI_Comm comm) noexcept { report(MPI_Comm_free(&comm), "MPI_Comm_free"); }

bool running() noexcept {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started != 0 && ended == 0;
}

}  // namespace nothrow

void CommTraits::close(Raw raw) noexcept {
  if (may_close()) {
    nothrow::comm_free(raw);
  }
}

}  // namespace sherd::comm::mpi
