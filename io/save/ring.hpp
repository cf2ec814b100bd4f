#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "io/save/first_touch.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::io {

/// Page-aligned host memory, taken once and used for every save, handed out in stretches that come
/// back in any order. Not thread-safe.
class StagingRing {
 public:
  StagingRing() = default;
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;
  ~StagingRing();

  /// At least `bytes` of memory; nothing may be handed out. Pinned for `device` unless that is
  /// null. Throws IoError when there is none.
  void reserve(std::uint64_t bytes, runtime::Device* device = nullptr);
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Has the pages of what is reserved cleared in the background, until reset() or all is done.
  /// Nothing may be handed out. Pinned memory has its pages.
  void touch_in_background();
  void wait_touched() noexcept { touch_.wait(); }

  /// `bytes` (a multiple of 4096) in one piece; nullptr until more has been released.
  [[nodiscard]] std::byte* try_acquire(std::uint64_t bytes);
  void release(const std::byte* stretch);
  /// Before a save: takes back everything, after one that failed, and ends the first touch.
  void reset() noexcept;

 private:
  struct Stretch {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool free = false;
  };
  [[nodiscard]] bool place(std::uint64_t bytes, std::uint64_t& offset) const;

  void give_back() noexcept;

  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  std::shared_ptr<runtime::Device> device_;  // whose pinned memory it is; null: mapped
  std::byte* pinned_ = nullptr;              // what was allocated there
  std::deque<Stretch> used_;                 ///< oldest first
  FirstTouch touch_;                         // last: its thread uses the memory
};

}  // namespace sherd::io
