// Fragments become reads of megabytes: neighbours in one, long ones cut at pages.
#include "io/load/read_chunks.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "io/disk/page.hpp"

namespace sherd::io {
namespace {

constexpr std::uint64_t kLargestGap = std::uint64_t{64} << 10;

class Packer {
 public:
  explicit Packer(std::span<const LoadItem> items) : items_(items) {}

  ReadList run(std::vector<Fragment> fragments) {
    std::stable_sort(
        fragments.begin(), fragments.end(), [this](const Fragment& a, const Fragment& b) {
          return std::tuple(a.piece->file, offset_of(a)) < std::tuple(b.piece->file, offset_of(b));
        });
    list_.fragments = std::move(fragments);
    for (std::size_t i = 0; i < list_.fragments.size(); ++i) {
      add(i);
    }
    return std::move(list_);
  }

 private:
  std::uint64_t width_of(const Fragment& fragment) const {
    return size_of(items_[fragment.item].record->dtype);
  }
  std::uint64_t offset_of(const Fragment& fragment) const {
    return fragment.piece->file_offset +
           static_cast<std::uint64_t>(fragment.part.first) * width_of(fragment);
  }

  void add(std::size_t index) {
    const Fragment& fragment = list_.fragments[index];
    const std::uint64_t width = width_of(fragment);
    const bool whole = static_cast<std::uint64_t>(fragment.part.numel) * width <= kDigestBytes;
    std::uint64_t at = offset_of(fragment);
    for (dtensor::FlatRange rest = fragment.part; rest.numel > 0;) {
      std::int64_t room = room_at(fragment.piece->file, at, width);
      if (room == 0 || (whole && room < rest.numel)) {
        list_.chunks.push_back({fragment.piece->file, at, 0, list_.slices.size(), 0});
        room = room_at(fragment.piece->file, at, width);
      }
      const std::int64_t taken = std::min(room, rest.numel);
      put(index, {rest.first, taken}, at, static_cast<std::size_t>(taken) * width);
      at += static_cast<std::uint64_t>(taken) * width;
      rest = {rest.first + taken, rest.numel - taken};
    }
  }

  /// Elements that the last chunk still takes at this place of the file.
  std::int64_t room_at(std::size_t file, std::uint64_t at, std::uint64_t width) const {
    if (list_.chunks.empty() || list_.chunks.back().file != file) {
      return 0;
    }
    const ReadChunk& chunk = list_.chunks.back();
    const std::uint64_t full = chunk.offset - chunk.offset % kPage + kReadBytes;
    if (at > chunk.offset + chunk.bytes + kLargestGap || at >= full) {
      return 0;
    }
    return static_cast<std::int64_t>((full - at) / width);
  }

  void put(std::size_t fragment, dtensor::FlatRange part, std::uint64_t at, std::size_t bytes) {
    ReadChunk& chunk = list_.chunks.back();
    list_.slices.push_back({fragment, part, static_cast<std::size_t>(at - chunk.offset), bytes});
    ++chunk.slices;
    chunk.bytes = static_cast<std::size_t>(at - chunk.offset) + bytes;
  }

  std::span<const LoadItem> items_;
  ReadList list_;
};

}  // namespace

ReadList pack_chunks(std::vector<Fragment> fragments, std::span<const LoadItem> items) {
  return Packer(items).run(std::move(fragments));
}

std::vector<std::size_t> staggered(std::size_t count, int share, int shares) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t first =
      count * static_cast<std::size_t>(share) / static_cast<std::size_t>(shares);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first), order.end());
  return order;
}

}  // namespace sherd::io
