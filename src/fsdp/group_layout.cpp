#include "sherd/fsdp/group_layout.hpp"

#include <algorithm>

#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

GroupLayout::GroupLayout(const std::vector<Entry>& entries, int pieces, std::int64_t alignment)
    : pieces_(pieces) {
  expect(pieces > 0 && alignment > 0, "a group layout needs positive pieces and alignment");
  std::int64_t end = 0;
  for (const Entry& entry : entries) {
    const std::int64_t begin = round_up(end, alignment);
    slots_.push_back({entry.name, entry.shape, entry.shape.numel(), begin});
    end = begin + entry.shape.numel();
  }
  piece_numel_ = round_up((end + pieces - 1) / pieces, alignment);
}

std::int64_t GroupLayout::parameter_numel() const noexcept {
  std::int64_t sum = 0;
  for (const ParameterSlot& slot : slots_) {
    sum += slot.numel;
  }
  return sum;
}

std::vector<SlotOverlap> GroupLayout::overlaps(std::int64_t begin, std::int64_t count) const {
  std::vector<SlotOverlap> found;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ParameterSlot& slot = slots_[i];
    const std::int64_t first = std::max(begin, slot.offset);
    const std::int64_t last = std::min(begin + count, slot.offset + slot.numel);
    if (first < last) {
      found.push_back({i, first - slot.offset, first - begin, last - first});
    }
  }
  return found;
}

}  // namespace sherd::fsdp
