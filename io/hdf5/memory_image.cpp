#include "io/hdf5/memory_image.hpp"

#include <algorithm>

namespace sherd::io::hdf5 {

void MemoryImage::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t inside = offset % kImagePage;
    const std::size_t count = std::min(bytes.size(), kImagePage - inside);
    std::unique_ptr<Page>& page = pages_[offset / kImagePage];
    if (page == nullptr) {
      page = std::make_unique<Page>();
    }
    std::copy_n(bytes.begin(), count, page->begin() + static_cast<std::ptrdiff_t>(inside));
    bytes = bytes.subspan(count);
    offset += count;
    bytes_ = std::max(bytes_, offset);
  }
}

void MemoryImage::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::size_t inside = offset % kImagePage;
    const std::size_t count = std::min(out.size(), kImagePage - inside);
    const auto found = pages_.find(offset / kImagePage);
    if (found == pages_.end()) {
      std::fill_n(out.begin(), count, std::byte{0});
    } else {
      std::copy_n(found->second->begin() + static_cast<std::ptrdiff_t>(inside), count, out.begin());
    }
    out = out.subspan(count);
    offset += count;
  }
}

}  // namespace sherd::io::hdf5
