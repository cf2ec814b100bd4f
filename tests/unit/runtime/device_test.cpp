#include "sherd/runtime/device.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sherd {
namespace {

TEST(Device, CudaSaysWhyItIsNotThere) {
  const runtime::DeviceStatus status = runtime::cuda_status();
  EXPECT_FALSE(status.reason.empty());
  setenv("SHERD_DISABLE_CUDA", "1", 1);
  EXPECT_FALSE(runtime::cuda_status().available);
  unsetenv("SHERD_DISABLE_CUDA");
}

}  // namespace
}  // namespace sherd
