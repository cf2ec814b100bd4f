#include "comm/shared/region_registry.hpp"

#include <gtest/gtest.h>

#include "comm/self/heap_region.hpp"

namespace sherd {
namespace {

using comm::RegionRegistry;

std::unique_ptr<comm::SharedRegion> block(std::size_t bytes) {
  return std::make_unique<comm::HeapRegion>(comm::make_heap_block(bytes));
}

TEST(RegionRegistry, FindsWhatLiesWhollyInside) {
  const auto registry = std::make_shared<RegionRegistry>();
  const auto first = RegionRegistry::enrol(registry, block(1000));
  const auto second = RegionRegistry::enrol(registry, block(1000));
  std::byte* data = second->bytes().data();
  const auto place = registry->find(data + 100, 900);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->region, 1);
  EXPECT_EQ(place->offset, 100U);
  EXPECT_EQ(registry->address(*place), data + 100);
  EXPECT_FALSE(registry->find(data + 101, 900).has_value());
  EXPECT_FALSE(registry->find(data - 1, 10).has_value());
}

TEST(RegionRegistry, ForgetsARegionThatIsGone) {
  const auto registry = std::make_shared<RegionRegistry>();
  auto region = RegionRegistry::enrol(registry, block(1000));
  const std::byte* data = region->bytes().data();
  region.reset();
  EXPECT_FALSE(registry->find(data, 1).has_value());
}

}  // namespace
}  // namespace sherd
