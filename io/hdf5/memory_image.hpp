#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

namespace sherd::io::hdf5 {

/// The bytes of a file that HDF5 lays out in memory. What is never written reads as zeros and takes
/// no room, so that it may be as large as any shard file. Not thread-safe.
class MemoryImage {
 public:
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  void resize(std::uint64_t bytes) noexcept { bytes_ = bytes; }

 private:
  static constexpr std::size_t kImagePage = 4096;
  using Page = std::array<std::byte, kImagePage>;

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t bytes_ = 0;
};

}  // namespace sherd::io::hdf5
