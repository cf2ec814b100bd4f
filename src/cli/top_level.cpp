#include "cli/top_level.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"
#include "sherd/base/printable.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/comm/mpi_interop.hpp"

namespace sherd::cli {
namespace {

constexpr auto kArrival = std::chrono::seconds(5);
/// Another rank's failure is most often what a failed transfer comes from. That rank knows the
/// cause and ends all others once it has said it.
constexpr auto kCauseFirst = std::chrono::milliseconds(500);

std::unique_ptr<comm::Communicator> connect(const runtime::Runtime& runtime) {
  return runtime.size() == 1 ? comm::make_self() : comm::make_mpi(MPI_COMM_WORLD);
}

/// A sum over all ranks that may never complete.
struct Arrival {
  std::int64_t here = 1;
  std::int64_t arrived = 0;
  comm::Work work;
};

/// Whether every rank of `world` comes here within seconds. Collective if they do.
bool all_arrive(comm::Communicator& world) {
  auto arrival = std::make_unique<Arrival>();
  arrival->work =
      world.all_reduce(&arrival->here, &arrival->arrived, 1, DType::i64, comm::ReduceOp::sum);
  const auto deadline = std::chrono::steady_clock::now() + kArrival;
  while (!arrival->work.test()) {
    if (std::chrono::steady_clock::now() > deadline) {
      (void)arrival.release();  // ending it would wait for ranks that never come
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

int bad_input(runtime::Runtime& runtime, comm::Communicator& world, const std::string& message) {
  if (!all_arrive(world)) {
    log::error(message);
    runtime.abort(kBadInput);
  }
  if (runtime.rank() == 0) {
    std::fprintf(stderr, "%s\n", printable(message).c_str());
  }
  return kBadInput;
}

/// A path that a command was given cannot be looked at. Its own functions say more where they can.
std::string describe_path(const std::filesystem::filesystem_error& error) {
  return fmt::format("'{}' cannot be used: {}. Try: another path, or its permissions",
                     error.path1().string(), error.code().message());
}

std::string describe(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  return ours == nullptr
             ? std::string(error.what())
             : fmt::format("{} ({}:{})", error.what(), ours->where().file, ours->where().line);
}

}  // namespace

int run_on_all_ranks(runtime::Runtime& runtime,
                     const std::function<int(comm::Communicator&)>& body) {
  try {
    const auto world = connect(runtime);
    try {
      return body(*world);
    } catch (const ConfigError& error) {
      return bad_input(runtime, *world, error.what());
    }
  } catch (const std::exception& error) {
    if (runtime.size() > 1 && dynamic_cast<const CommError*>(&error) != nullptr) {
      std::this_thread::sleep_for(kCauseFirst);
    }
    log::error(describe(error));
    if (runtime.size() > 1) {
      runtime.abort(kFailed);
    }
    return kFailed;
  }
}

int run_alone(const std::function<int()>& body) {
  try {
    return body();
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
    return kBadInput;
  } catch (const std::filesystem::filesystem_error& error) {
    std::fprintf(stderr, "%s\n", printable(describe_path(error)).c_str());
    return kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", printable(error.what()).c_str());
    return kFailed;
  }
}

}  // namespace sherd::cli
