// Where the bytes of an item come from: host memory, device memory or a text.
#include "io/save/stage_sources.hpp"

namespace sherd::io {

StageSources::StageSources(const StateLayout& layout, int rank, const dtensor::StateDict& state)
    : data_(item_count(layout), nullptr), on_device_(item_count(layout), false) {
  std::size_t item = 0;
  for (const auto& [key, tensor] : state.tensors) {
    const TensorLayout& entry = layout.tensors[item];
    const auto index = static_cast<std::size_t>(rank);
    const std::uint64_t bytes = item_bytes(layout, rank, item);
    if (bytes > 0) {
      const std::int64_t skipped = entry.stored[index].first - entry.held[index].first;
      const std::byte* from =
          tensor.local.raw() + static_cast<std::size_t>(skipped) * size_of(entry.facts.dtype);
      if (tensor.volatile_contents) {
        data_[item] = add_copy(to_host(tensor.local).raw() + (from - tensor.local.raw()), bytes);
      } else {
        data_[item] = from;
        on_device_[item] = tensor.local.is_on_device();
        tensors_.push_back(tensor.local);
      }
      if (on_device_[item] && reader_ == nullptr) {
        reader_ = std::make_unique<DeviceReader>(*tensor.local.device());
      }
    }
    ++item;
  }
  for (const auto& [key, blob] : state.per_rank) {
    data_[item++] = add_copy(blob.data(), blob.size());
  }
}

const std::byte* StageSources::add_copy(const std::byte* from, std::uint64_t bytes) {
  copies_.emplace_back(from, from + bytes);
  return copies_.back().data();
}

}  // namespace sherd::io
