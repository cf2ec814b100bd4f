#pragma once

#include <string>
#include <vector>

namespace sherd::runtime {

/// Starts MPI unless somebody else has, and ends it if it was started here. The calls of the
/// runtime on MPI_COMM_WORLD are all here.
class MpiEnv {
 public:
  /// Throws ConfigError when MPI offers less than MPI_THREAD_FUNNELED.
  MpiEnv(int& argc, char**& argv);
  /// Ends MPI. When it runs because an exception is on its way out of main, the other ranks may be
  /// waiting for this one: then the whole launch is ended instead.
  ~MpiEnv();
  MpiEnv(const MpiEnv&) = delete;
  MpiEnv& operator=(const MpiEnv&) = delete;

 private:
  bool owned_ = false;
  int exceptions_;  // in flight when this was made
};

[[nodiscard]] bool mpi_running() noexcept;
[[nodiscard]] int world_rank();
[[nodiscard]] int world_size();
[[nodiscard]] std::string processor_name();
/// "Open MPI v4.1.4"
[[nodiscard]] std::string mpi_library();
/// "MPI_THREAD_MULTIPLE"
[[nodiscard]] std::string mpi_thread_level();
/// Every rank's `value`, by rank. Collective.
[[nodiscard]] std::vector<int> gather_ints(int value);
/// Every rank's `mine`, by rank. Collective.
[[nodiscard]] std::vector<std::string> gather_bytes(const std::string& mine);
/// The lowest rank of the launch that shares memory with this one. Collective.
[[nodiscard]] int lowest_rank_on_node();
[[noreturn]] void abort_world(int exit_code) noexcept;

}  // namespace sherd::runtime
