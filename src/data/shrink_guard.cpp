#include "data/shrink_guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/base/printable.hpp"

namespace sherd::data {

constexpr int kExitCodeOfLostData = 1;  // as for all errors of one rank

/// Where this thread goes on when a page is gone; nullptr outside of read().
thread_local sigjmp_buf* way_out = nullptr;

/// A mapping as the handler sees it. Ranges are never freed, since the handler may walk them at any
/// time; one without a guard has no bytes and is used again.
struct ShrinkGuard::Range {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::size_t> bytes = 0;
  std::string line;  // what the handler writes
  Range* next = nullptr;
};

struct GuardedRanges {
  std::mutex mutex;
  std::atomic<ShrinkGuard::Range*> first = nullptr;
  std::vector<ShrinkGuard::Range*> unused;
  struct sigaction previous {};

  static GuardedRanges& all() {
    static auto* instance = new GuardedRanges;  // outlives every thread
    return *instance;
  }

  /// Calls nothing that a signal handler may not.
  static void on_bus_error(int number, siginfo_t* info, void*) {
    GuardedRanges& ranges = all();
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (auto* range = ranges.first.load(); range != nullptr; range = range->next) {
      if (info->si_code > 0 && address - range->begin.load() < range->bytes.load()) {
        if (way_out != nullptr) {
          siglongjmp(*way_out, 1);
        }
        [[maybe_unused]] const ssize_t written =
            ::write(STDERR_FILENO, range->line.data(), range->line.size());
        ::_exit(kExitCodeOfLostData);
      }
    }
    ::sigaction(number, &ranges.previous, nullptr);  // the faulting access is tried again
    if (info->si_code <= 0) {                        // but for a signal that somebody sent
      ::raise(number);
    }
  }

  void listen() {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous);
  }

  ShrinkGuard::Range* take() {
    if (!unused.empty()) {
      auto* range = unused.back();
      unused.pop_back();
      return range;
    }
    auto* range = new ShrinkGuard::Range;
    range->next = first.load();
    if (range->next == nullptr) {
      listen();
    }
    first.store(range);
    return range;
  }
};

ShrinkGuard::ShrinkGuard(const void* begin, std::size_t bytes, const std::filesystem::path& file) {
  std::string line = fmt::format(
      "{}: can no longer be read: it has become shorter while the run read it, or its disk fails "
      "(it is training data; the checkpoints are sound). Try: the whole file again, then the same "
      "command; put new data in place with mv\n",
      printable_name(file.string()));
  GuardedRanges& ranges = GuardedRanges::all();
  const std::lock_guard lock(ranges.mutex);
  range_ = ranges.take();
  range_->line = std::move(line);
  range_->begin.store(reinterpret_cast<std::uintptr_t>(begin));
  range_->bytes.store(bytes);
}

ShrinkGuard::~ShrinkGuard() {
  GuardedRanges& ranges = GuardedRanges::all();
  const std::lock_guard lock(ranges.mutex);
  range_->bytes.store(0);
  ranges.unused.push_back(range_);
}

void ShrinkGuard::call(void (*body)(void*), void* argument) const {
  sigjmp_buf here;
  sigjmp_buf* const before = way_out;
  if (sigsetjmp(here, 0) != 0) {
    way_out = before;
    throw IoError(range_->line.substr(0, range_->line.size() - 1));
  }
  way_out = &here;
  body(argument);
  way_out = before;
}

}  // namespace sherd::data
