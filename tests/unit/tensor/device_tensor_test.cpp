// Tensors in pinned and device memory, on the emulated device.

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "sherd/base/error.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "sherd/tensor/memory_stats.hpp"
#include "unit/tensor/values.hpp"

namespace sherd {
namespace {

class DeviceTensorTest : public testing::Test {
 protected:
  std::shared_ptr<runtime::Device> device_ =
      runtime::make_emulated({.memory_bytes = std::size_t{64} << 20, .seed = 5});
  runtime::DeviceScope scope_{device_};
};

TEST_F(DeviceTensorTest, KnowsWhereItIs) {
  const Tensor host = Tensor::empty(Shape{2, 3}, DType::f32);
  const Tensor pinned = Tensor::empty(Shape{2, 3}, DType::f32, MemoryKind::pinned);
  const Tensor device = Tensor::empty(Shape{2, 3}, DType::f32, MemoryKind::device);
  EXPECT_EQ(host.where(), MemoryKind::host);
  EXPECT_EQ(host.device(), nullptr);
  EXPECT_EQ(pinned.where(), MemoryKind::pinned);
  EXPECT_EQ(device.device(), device_.get());
  EXPECT_TRUE(device.slice(2, 3).is_on_device());
  EXPECT_FALSE(pinned.is_on_device());
  EXPECT_FALSE(Tensor::meta(Shape{2}, DType::f32).is_on_device());
}

TEST_F(DeviceTensorTest, GoesThereAndBack) {
  const Tensor from = test::random(Shape{7, 5}, DType::bf16, 1);
  const Tensor there = to_device(from);
  EXPECT_TRUE(there.is_on_device());
  EXPECT_EQ(there.shape(), from.shape());
  const Tensor back = to_host(there.clone());
  EXPECT_TRUE(test::same_bits(from, back));
  EXPECT_EQ(to_host(from).raw(), from.raw());
  EXPECT_EQ(to_device(there).raw(), there.raw());
}

TEST_F(DeviceTensorTest, SlicesCopyThroughPinnedMemory) {
  const Tensor there = to_device(test::random(Shape{100}, DType::f64, 2));
  const Tensor staged = Tensor::empty(Shape{10}, DType::f64, MemoryKind::pinned);
  copy(there.slice(20, 10), staged);
  device_->compute_stream().synchronize();
  copy(staged, there.slice(0, 10));
  const Tensor back = to_host(there);
  EXPECT_TRUE(test::same_bits(back.slice(0, 10).clone(), back.slice(20, 10).clone()));
}

TEST_F(DeviceTensorTest, ZeroesAndConvertsOnTheDevice) {
  const Tensor zeros = Tensor::zeros(Shape{33}, DType::f32, MemoryKind::device);
  EXPECT_EQ(test::values_of(to_host(zeros)), test::Values(33, 0.0));
  const Tensor values = test::random(Shape{1000}, DType::f32, 3);
  const Tensor narrow = to_dtype(to_device(values), DType::f16);
  EXPECT_TRUE(narrow.is_on_device());
  EXPECT_TRUE(test::same_bits(to_host(narrow), to_dtype(values, DType::f16)));
}

TEST_F(DeviceTensorTest, TheHostMustNotReadIt) {
  const Tensor there = Tensor::zeros(Shape{4}, DType::f32, MemoryKind::device);
  EXPECT_THROW(static_cast<void>(there.span<float>()), ArgumentError);
  EXPECT_THROW(convert(there, Tensor::empty(Shape{4}, DType::f64)), ArgumentError);
  EXPECT_THROW(copy(there, Tensor::empty(Shape{5}, DType::f32)), ArgumentError);
  EXPECT_THROW(copy(there, Tensor::empty(Shape{4}, DType::f64)), ArgumentError);
}

TEST_F(DeviceTensorTest, AThreadWithoutADeviceHasNoDeviceMemory) {
  std::thread([] {
    EXPECT_THROW(Tensor::empty(Shape{4}, DType::f32, MemoryKind::device), ArgumentError);
    EXPECT_EQ(memory_stats(MemoryKind::device).live_bytes, 0U);
  }).join();
}

TEST_F(DeviceTensorTest, IsCountedByKind) {
  const std::size_t before = memory_stats(MemoryKind::device).live_bytes;
  const std::size_t host_before = memory_stats().live_bytes;
  {
    const Tensor there = Tensor::empty(Shape{1000}, DType::f32, MemoryKind::device);
    EXPECT_EQ(memory_stats(MemoryKind::device).live_bytes, before + 4000);
    EXPECT_EQ(memory_stats(MemoryKind::pinned).live_bytes, 0U);
  }
  EXPECT_EQ(memory_stats(MemoryKind::device).live_bytes, before);
  EXPECT_EQ(memory_stats(MemoryKind::device).peak_bytes, before + 4000);
  EXPECT_EQ(memory_stats().live_bytes, host_before);
  EXPECT_GE(release_pooled_memory(MemoryKind::device), 4000U);
}

TEST_F(DeviceTensorTest, OutlivesTheScopeOfItsDevice) {
  Tensor there;
  {
    const runtime::DeviceScope inner(runtime::make_emulated());
    there = to_device(test::random(Shape{10}, DType::f32, 4));
  }
  EXPECT_EQ(to_host(there).numel(), 10);
}

}  // namespace
}  // namespace sherd
