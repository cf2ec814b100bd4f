#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "sherd/comm/shared_region.hpp"

namespace sherd::comm {

/// The regions one communicator has handed out and that still live. All ranks number them alike, so
/// that (region, offset) means the same memory on every rank.
class RegionRegistry {
 public:
  struct Place {
    std::int64_t region = -1;
    std::uint64_t offset = 0;
  };

  /// Wraps `region` so that it is known here for as long as it lives.
  static std::unique_ptr<SharedRegion> enrol(const std::shared_ptr<RegionRegistry>& registry,
                                             std::unique_ptr<SharedRegion> region);

  /// Where `bytes` bytes at `data` lie, if wholly inside a known region.
  [[nodiscard]] std::optional<Place> find(const void* data, std::size_t bytes) const;
  [[nodiscard]] std::byte* address(Place place) const;

 private:
  class Enrolled;

  std::map<std::int64_t, std::span<std::byte>> regions_;
  std::int64_t next_ = 0;
};

}  // namespace sherd::comm
