#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sherd/runtime/device.hpp"

namespace sherd::io {

/// Reads device memory for a save while the device goes on computing: on a stream of its own,
/// behind what the compute stream had been given when this was made.
class DeviceReader {
 public:
  explicit DeviceReader(runtime::Device& device);

  /// Blocks until `bytes` from `from` are at `to`, which is pinned memory. One thread at a time,
  /// not necessarily the one that made it.
  void read(std::byte* to, const std::byte* from, std::uint64_t bytes);

 private:
  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Stream> stream_;
};

}  // namespace sherd::io
