#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

namespace {

class KokkosEnvironment : public testing::Environment {
 public:
  void SetUp() override { Kokkos::initialize(); }
  void TearDown() override { Kokkos::finalize(); }
};

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new KokkosEnvironment);

}  // namespace
