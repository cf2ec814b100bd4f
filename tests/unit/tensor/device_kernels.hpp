#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "support/device_kinds.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::test {

using Tensors = std::vector<Tensor>;
using Case = std::tuple<DeviceKind, DType>;

class DeviceKernels : public testing::TestWithParam<Case> {
 protected:
  /// Runs `kernel` on host tensors and on copies of them on the device: all that it may have
  /// written must be the same.
  void expect_same(const Tensors& tensors, const std::function<void(const Tensors&)>& kernel) {
    Tensors host;
    Tensors device;
    for (const Tensor& tensor : tensors) {
      host.push_back(tensor.clone());
      device.push_back(to_device(tensor));
    }
    kernel(host);
    kernel(device);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor read = to_host(device[i]);
      if (kind().is_emulated()) {
        EXPECT_TRUE(same_bits(host[i], read)) << "tensor " << i;
      } else {
        expect_close(read, values_of(host[i]), tolerance());
      }
    }
  }
  void expect_same(double host, double device) {
    if (kind().is_emulated()) {
      EXPECT_EQ(host, device);
    } else {
      EXPECT_NEAR(host, device, tolerance() * std::fabs(host));
    }
  }
  [[nodiscard]] Tensor random(const Shape& shape) { return test::random(shape, dtype(), seed_++); }
  [[nodiscard]] Tensor wide(const Shape& shape) {
    return test::random(shape, wide_type(), seed_++);
  }
  [[nodiscard]] static const DeviceKind& kind() { return std::get<0>(GetParam()); }
  [[nodiscard]] static DType dtype() { return std::get<1>(GetParam()); }
  [[nodiscard]] static DType wide_type() { return dtype() == DType::f64 ? DType::f64 : DType::f32; }
  /// Of results of order one: several roundings of the type.
  [[nodiscard]] static double tolerance() {
    switch (dtype()) {
      case DType::f64:
        return 1e-10;
      case DType::f32:
        return 1e-4;
      case DType::f16:
        return 0x1p-7;
      default:
        return 0x1p-4;
    }
  }

  std::shared_ptr<runtime::Device> device_ = kind().open();
  runtime::DeviceScope scope_{device_};
  unsigned seed_ = 1;
};

}  // namespace sherd::test
