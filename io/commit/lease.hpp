#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "io/commit/owner_mark.hpp"

namespace sherd::io {

/// One writer of a folder at a time, among all programs that see it. Taken before the first step,
/// renewed by a thread, given back by the destructor. A program that is killed leaves a mark that
/// the next one takes over: at once when the process provably ended, else once nobody has renewed
/// it for `patience`. Clocks are not compared.
class Lease {
 public:
  struct Timing {
    std::chrono::milliseconds renewal = std::chrono::seconds(10);
    std::chrono::milliseconds patience = std::chrono::seconds(35);
  };

  /// Local; may block for `patience`. Within a process all of a folder's leases are one. Throws
  /// ConfigError that names the holder, IoError.
  [[nodiscard]] static std::shared_ptr<Lease> take(const std::filesystem::path& folder,
                                                   Timing timing);
  [[nodiscard]] static std::shared_ptr<Lease> take(const std::filesystem::path& folder) {
    return take(folder, Timing{});
  }

  Lease(std::filesystem::path folder, Timing timing);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  [[nodiscard]] const std::string& uuid() const noexcept { return mark_.uuid; }
  /// Throws IoError when another program has taken the folder over: this one was stopped for longer
  /// than the other's patience, say.
  void require_held() const;
  /// Counts saves; `highest` says how far they have come, and is asked once.
  [[nodiscard]] std::int64_t next_number(const std::function<std::int64_t()>& highest);

 private:
  void acquire(Timing timing);
  void take_over(const MarkSeen& dead) const;
  void renew();

  std::filesystem::path folder_;
  OwnerMark mark_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::string lost_to_;
  std::int64_t number_ = -1;
  std::jthread renewal_;
};

}  // namespace sherd::io
