#include "comm/nccl/nccl_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "comm/nccl/network_interfaces.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/host_name.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/timeout.hpp"

namespace sherd::comm::nccl {
namespace {

using Clock = std::chrono::steady_clock;

bool failed(Result result) { return result != Result::success && result != Result::in_progress; }

}  // namespace

std::chrono::milliseconds connection_limit() {
  return std::min<std::chrono::milliseconds>(comm_timeout(), std::chrono::minutes(5));
}

Connection::Connection(Library& library, const UniqueId& id, int rank, int size,
                       std::chrono::milliseconds limit)
    : library_(library), rank_(rank), size_(size), limit_(limit) {
  Result result = library_.init(comm_, size, id, rank);
  if (result == Result::in_progress) {
    result = settle(limit_);
  }
  if (result != Result::success) {
    fail_to_connect(result);
  }
}

Connection::~Connection() {
  if (std::uncaught_exceptions() > 0) {
    abort();
  } else {
    end();
  }
}

Result Connection::settle(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (int asked = 0;; ++asked) {
    Result state = Result::success;
    const Result answer = library_.async_error(comm_, state);
    if (failed(answer) || state != Result::in_progress) {
      return failed(answer) ? answer : state;
    }
    if (Clock::now() >= deadline) {
      return Result::in_progress;
    }
    if (asked < 1000) {  // issuing an operation takes microseconds, connecting takes seconds
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

void Connection::call(const std::string& what,
                      const std::function<Result(Library&, Library::Comm*)>& call) {
  if (aborted()) {
    throw CommError(fmt::format(
        "{} on a communicator that was given up after an earlier error. Try: look for it above",
        what));
  }
  Result result = call(library_, comm_);
  if (result == Result::in_progress) {
    result = settle(limit_);
  }
  if (result != Result::success) {
    fail(what, result);
  }
}

void Connection::check(const std::string& what) {
  if (aborted()) {
    throw CommError(fmt::format("{} was given up because another operation failed", what));
  }
  Result state = Result::success;
  const Result answer = library_.async_error(comm_, state);
  if (failed(answer) || failed(state)) {
    fail(what, failed(answer) ? answer : state);
  }
}

void Connection::fail(const std::string& what, Result result) {
  const std::string reason = result == Result::in_progress
                                 ? fmt::format("NCCL did not take it within {} s",
                                               std::chrono::duration<double>(limit_).count())
                                 : library_.explain(result, comm_);
  abort();
  throw CommError(fmt::format(
      "{} failed on rank {} of {}: {}. Try: look for the first error on the other ranks, or "
      "NCCL_DEBUG=INFO",
      what, rank_, size_, reason));
}

void Connection::fail_to_connect(Result result) {
  const std::string reason = result == Result::in_progress ? "" : library_.explain(result, comm_);
  const std::string host = host_name();
  abort();
  if (result == Result::invalid_usage && reason.find("Duplicate GPU") != std::string::npos) {
    throw ConfigError(fmt::format(
        "rank {} on {} shares its GPU with another rank, which NCCL cannot do ({}). Try: as many "
        "ranks per node as there are GPUs, and --gpus-per-node without --gpus-per-task",
        rank_, host, reason));
  }
  const std::string problem =
      result == Result::in_progress
          ? fmt::format("the {} ranks did not all connect within {} s", size_,
                        std::chrono::duration<double>(limit_).count())
          : reason;
  throw CommError(
      fmt::format("NCCL does not come up on rank {} of {}, host {}: {} (interfaces here: {}). Try: "
                  "NCCL_DEBUG=INFO to see where it waits, NCCL_SOCKET_IFNAME=<an interface that "
                  "reaches the other nodes>",
                  rank_, size_, host, problem, network_interfaces()));
}

void Connection::abort() noexcept {
  if (comm_ == nullptr) {
    return;
  }
  Library::Comm* const comm = std::exchange(comm_, nullptr);
  if (failed(library_.abort(comm))) {
    log::warning("ncclCommAbort failed");
  }
}

void Connection::end() noexcept {
  if (comm_ == nullptr) {
    return;
  }
  Result result = library_.finalize(comm_);
  if (result == Result::in_progress) {
    result = settle(limit_);
  }
  if (result != Result::success) {
    log::warning(result == Result::in_progress
                     ? "an NCCL communicator did not come to its end in time and is given up"
                     : "ncclCommFinalize failed");
    abort();
    return;
  }
  Library::Comm* const comm = std::exchange(comm_, nullptr);
  if (failed(library_.destroy(comm))) {
    log::warning("ncclCommDestroy failed");
  }
}

}  // namespace sherd::comm::nccl
