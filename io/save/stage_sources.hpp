#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/save/chunks.hpp"
#include "io/save/device_reader.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::io {

/// Where a save's bytes come from: the caller's tensors, kept alive, and copies of what may change
/// before it is staged. Tensors on a device are read as they are when all that was given to its
/// compute stream before is done.
class StageSources {
 public:
  /// What `rank` stores of `state`. Copies per_rank data and tensors with volatile_contents.
  StageSources(const StateLayout& layout, int rank, const dtensor::StateDict& state);

  /// This rank's bytes of an item; the host may not read them where they are on a device.
  [[nodiscard]] const std::byte* item(std::size_t item) const { return data_.at(item); }
  [[nodiscard]] bool on_device(std::size_t item) const { return on_device_.at(item); }
  /// Blocks until bytes [from, from + bytes) of an item on a device are at `to`, in pinned memory.
  void fetch(std::size_t item, std::uint64_t from, std::uint64_t bytes, std::byte* to) const {
    reader_->read(to, data_.at(item) + from, bytes);
  }

 private:
  const std::byte* add_copy(const std::byte* from, std::uint64_t bytes);

  std::vector<const std::byte*> data_;
  std::vector<bool> on_device_;
  std::unique_ptr<DeviceReader> reader_;  // null: nothing is on a device
  std::vector<Tensor> tensors_;
  std::vector<std::vector<std::byte>> copies_;
};

}  // namespace sherd::io
