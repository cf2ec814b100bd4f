#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace sherd::runtime {

/// The memory of an emulated device: one range of addresses, inaccessible unless unlocked.
/// Thread-safe.
class EmulatedMemory {
 public:
  /// Throws DeviceError when the system has no such range.
  EmulatedMemory(std::size_t bytes, bool protect);
  ~EmulatedMemory();
  EmulatedMemory(const EmulatedMemory&) = delete;
  EmulatedMemory& operator=(const EmulatedMemory&) = delete;

  /// 256-byte aligned; null when no gap is large enough.
  [[nodiscard]] std::byte* obtain(std::size_t bytes) noexcept;
  void give_back(std::byte* block) noexcept;
  [[nodiscard]] std::size_t total() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t used() const noexcept;

  /// Counted: the memory is accessible while there were more unlocks than locks.
  void unlock() noexcept;
  void lock() noexcept;

 private:
  void protect(int access) const noexcept;

  std::size_t bytes_;
  bool protected_;
  void* range_;
  std::byte* base_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> blocks_;  // offset -> end
  std::size_t used_ = 0;
  std::size_t touched_ = 0;  // end of what was ever handed out
  int unlocked_ = 0;
};

/// Keeps the memory accessible.
class UnlockedMemory {
 public:
  explicit UnlockedMemory(EmulatedMemory& memory) noexcept : memory_(memory) { memory_.unlock(); }
  ~UnlockedMemory() { memory_.lock(); }
  UnlockedMemory(const UnlockedMemory&) = delete;
  UnlockedMemory& operator=(const UnlockedMemory&) = delete;

 private:
  EmulatedMemory& memory_;
};

}  // namespace sherd::runtime
