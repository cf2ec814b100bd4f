#include "runtime/mpi_env.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"

namespace sherd::runtime {
namespace {

/// For calls on MPI_COMM_WORLD, whose error handler ends the launch anyway unless an embedding
/// program has changed it.
void require_success(int code, const char* call) {
  if (code != MPI_SUCCESS) {
    throw CommError(fmt::format("{} failed with MPI error {}", call, code));
  }
}

/// MPI_Abort asks the launcher to end all ranks. One that is cut off from it would wait for ever.
constexpr std::chrono::seconds kAbortTakes{5};

void end_process_after(std::chrono::seconds time, int exit_code) noexcept {
  try {
    std::thread([time, exit_code] {
      std::this_thread::sleep_for(time);
      std::_Exit(exit_code);
    }).detach();
  } catch (const std::exception&) {
    // Then MPI_Abort has to do it alone.
  }
}

}  // namespace

MpiEnv::MpiEnv(int& argc, char**& argv) : exceptions_(std::uncaught_exceptions()) {
  int provided = MPI_THREAD_SINGLE;
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) {
    require_success(MPI_Query_thread(&provided), "MPI_Query_thread");
  } else {
    require_success(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided),
                    "MPI_Init_thread");
    owned_ = true;
  }
  if (provided < MPI_THREAD_FUNNELED && owned_) {
    MPI_Finalize();
  }
  validate(provided >= MPI_THREAD_FUNNELED,
           "MPI runs without thread support (sherd writes checkpoints from other threads). Try: "
           "MPI_Init_thread with MPI_THREAD_FUNNELED or better");
}

MpiEnv::~MpiEnv() {
  if (!mpi_running()) {
    return;
  }
  if (std::uncaught_exceptions() > exceptions_ && world_size() > 1) {
    log::error("this rank ends with an exception: ending the launch");
    abort_world(1);
  }
  if (owned_) {
    MPI_Finalize();
  }
}

bool mpi_running() noexcept {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started != 0 && ended == 0;
}

int world_rank() {
  int rank = 0;
  require_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}

int world_size() {
  int size = 1;
  require_success(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size;
}

std::string processor_name() {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  require_success(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  return {name, static_cast<std::size_t>(length)};
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  require_success(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string first(text, static_cast<std::size_t>(length));
  first.resize(std::min(first.size(), first.find_first_of(",\n")));  // the rest is about its build
  std::replace(first.begin(), first.end(), '\t', ' ');               // MPICH's
  return first;
}

std::string mpi_thread_level() {
  int level = MPI_THREAD_SINGLE;
  require_success(MPI_Query_thread(&level), "MPI_Query_thread");
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

std::vector<int> gather_ints(int value) {
  std::vector<int> values(static_cast<std::size_t>(world_size()));
  require_success(MPI_Allgather(&value, 1, MPI_INT, values.data(), 1, MPI_INT, MPI_COMM_WORLD),
                  "MPI_Allgather");
  return values;
}

std::vector<std::string> gather_bytes(const std::string& mine) {
  const std::vector<int> lengths = gather_ints(static_cast<int>(mine.size()));
  std::vector<int> starts;
  std::size_t total = 0;
  for (const int length : lengths) {
    starts.push_back(static_cast<int>(total));
    total += static_cast<std::size_t>(length);
  }
  std::string all(total, '\0');
  require_success(MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(),
                                 lengths.data(), starts.data(), MPI_BYTE, MPI_COMM_WORLD),
                  "MPI_Allgatherv");
  std::vector<std::string> parts;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    parts.push_back(all.substr(static_cast<std::size_t>(starts[rank]),
                               static_cast<std::size_t>(lengths[rank])));
  }
  return parts;
}

int lowest_rank_on_node() {
  MPI_Comm node = MPI_COMM_NULL;
  require_success(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
      "MPI_Comm_split_type");
  int lowest = world_rank();
  const int code = MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node);
  MPI_Comm_free(&node);
  require_success(code, "MPI_Allreduce");
  return lowest;
}

void abort_world(int exit_code) noexcept {
  if (mpi_running()) {
    end_process_after(kAbortTakes, exit_code);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }
  std::_Exit(exit_code);
}

}  // namespace sherd::runtime
