#include "comm/shared/region_registry.hpp"

#include <functional>
#include <utility>

namespace sherd::comm {

class RegionRegistry::Enrolled final : public SharedRegion {
 public:
  Enrolled(std::shared_ptr<RegionRegistry> registry, std::unique_ptr<SharedRegion> region)
      : registry_(std::move(registry)), region_(std::move(region)), id_(registry_->next_++) {
    registry_->regions_.emplace(id_, region_->bytes());
  }
  ~Enrolled() override { registry_->regions_.erase(id_); }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return region_->bytes(); }

 private:
  std::shared_ptr<RegionRegistry> registry_;
  std::unique_ptr<SharedRegion> region_;
  std::int64_t id_;
};

std::unique_ptr<SharedRegion> RegionRegistry::enrol(const std::shared_ptr<RegionRegistry>& registry,
                                                    std::unique_ptr<SharedRegion> region) {
  return std::make_unique<Enrolled>(registry, std::move(region));
}

std::optional<RegionRegistry::Place> RegionRegistry::find(const void* data,
                                                          std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(data);
  const std::less_equal<const std::byte*> not_after;
  for (const auto& [id, memory] : regions_) {
    if (not_after(memory.data(), first) &&
        not_after(first + bytes, memory.data() + memory.size())) {
      return Place{id, static_cast<std::uint64_t>(first - memory.data())};
    }
  }
  return std::nullopt;
}

std::byte* RegionRegistry::address(Place place) const {
  return regions_.at(place.region).data() + place.offset;
}

}  // namespace sherd::comm
