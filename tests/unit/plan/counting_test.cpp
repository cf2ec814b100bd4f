// Modules that no family knows, planned by the same code: the counting device against the host.
#include <gtest/gtest.h>

#include <memory>

#include "sherd/autograd/functional.hpp"
#include "sherd/nn/layers.hpp"
#include "sherd/plan/measure.hpp"
#include "sherd/runtime/counting_device.hpp"
#include "sherd/tensor/memory_stats.hpp"

namespace sherd::plan {
namespace {

using nn::Variable;

/// The network of examples/01_user_mlp.cpp.
class Mlp : public nn::Module {
 public:
  explicit Mlp(std::int64_t width) {
    for (const std::int64_t inputs : {std::int64_t{2}, width, width}) {
      hidden_->push_back(std::make_shared<nn::Linear>(inputs, width));
    }
    head_ = register_module("head", std::make_shared<nn::Linear>(width, 1));
  }
  Variable forward(const Variable& points) override {
    Variable x = points;
    for (std::size_t i = 0; i < hidden_->size(); ++i) {
      x = autograd::activation(kernel::Activation::tanh, (*hidden_)[i](x));
    }
    return (*head_)(x);
  }

 private:
  std::shared_ptr<nn::ModuleList> hidden_ =
      register_module("hidden", std::make_shared<nn::ModuleList>());
  std::shared_ptr<nn::Linear> head_;
};

Variable loss_of(nn::Module& module, std::int64_t rows, DType dtype, MemoryKind where) {
  const Tensor points = Tensor::empty({rows, 2}, dtype, where);
  const Tensor values = Tensor::empty({rows, 1}, dtype, where);
  if (where == MemoryKind::host) {
    points.fill_zero();
    values.fill_zero();
  }
  return autograd::squared_error(module(Variable(points)), values, 1.0);
}

/// The most bytes of host memory in a step, beyond parameters and gradients.
std::size_t measured_on_host(nn::Module& module, std::int64_t rows, DType dtype) {
  nn::materialize(module, 1, dtype);
  autograd::backward(loss_of(module, rows, dtype, MemoryKind::host));  // makes the gradients
  const std::size_t before = memory_stats().live_bytes;
  reset_peak_bytes();
  autograd::backward(loss_of(module, rows, dtype, MemoryKind::host));
  return memory_stats().peak_bytes - before;
}

TEST(CountingDevice, AUsersNetworkNeedsWhatItsPlanSays) {
  for (const std::int64_t width : {63, 8}) {
    for (const std::int64_t rows : {1, 24, 576}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        Mlp planned(width);
        const ActivationPeak peak = measure_activations(
            planned, {.dtype = dtype},
            [&](nn::Module& module) { return loss_of(module, rows, dtype, MemoryKind::device); });
        Mlp run(width);
        EXPECT_EQ(peak.bytes, measured_on_host(run, rows, dtype))
            << peak.at << ", width " << width << ", rows " << rows << " " << to_string(dtype);
        EXPECT_EQ(peak.block, static_cast<std::size_t>(rows * width) * size_of(dtype));
      }
    }
  }
}

TEST(CountingDevice, ThePlaceOfThePeakIsNamed) {
  Mlp mlp(64);
  const ActivationPeak peak = measure_activations(mlp, {}, [](nn::Module& module) {
    return loss_of(module, 1000, DType::f32, MemoryKind::device);
  });
  EXPECT_EQ(peak.at, "backward of head");
}

TEST(CountingDevice, TheModuleIsAsItWasAfterwards) {
  Mlp mlp(4);
  static_cast<void>(measure_activations(mlp, {}, [](nn::Module& module) {
    return loss_of(module, 3, DType::f32, MemoryKind::device);
  }));
  EXPECT_FALSE(mlp.has_hooks());
  for (const nn::NamedParameter& parameter : nn::named_parameters(mlp)) {
    EXPECT_TRUE(parameter.value.data().is_meta()) << parameter.name;
    EXPECT_FALSE(parameter.value.grad().defined()) << parameter.name;
  }
  EXPECT_GT(measured_on_host(mlp, 3, DType::f32), 0U);
}

TEST(CountingDevice, MoreThanAMachineHasCostsNothing) {
  const std::shared_ptr<runtime::Device> device = runtime::make_counting();
  const runtime::DeviceScope scope(device);
  const std::size_t host = memory_stats().live_bytes;
  const Tensor large = Tensor::empty({std::int64_t{1} << 45}, DType::f32, MemoryKind::device);
  large.fill_zero();
  EXPECT_EQ(device->stats(MemoryKind::device).live_bytes, std::size_t{1} << 47);
  EXPECT_EQ(memory_stats().live_bytes, host);
  EXPECT_DEATH(*large.raw() = std::byte{1}, "");
}

}  // namespace
}  // namespace sherd::plan
