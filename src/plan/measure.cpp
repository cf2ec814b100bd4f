// What a step of any module holds, counted by running it where nothing is computed.
#include "sherd/plan/measure.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/places.hpp"
#include "sherd/autograd/function.hpp"
#include "sherd/runtime/counting_device.hpp"
#include "sherd/tensor/memory_stats.hpp"

namespace sherd::plan {
namespace {

/// While it lives the parameters' data and gradients are in the current device's memory.
class ParametersOnDevice {
 public:
  ParametersOnDevice(const nn::Module& module, DType dtype)
      : parameters_(nn::named_parameters(module)) {
    for (nn::NamedParameter& parameter : parameters_) {
      nn::Variable& value = parameter.value;
      before_.push_back(value.data());
      const bool floating = is_floating(value.dtype());
      const DType held = floating ? dtype : value.dtype();
      value.set_data(Tensor::empty(value.shape(), held, MemoryKind::device));
      if (value.requires_grad()) {
        const DType summed = held == DType::f64 ? DType::f64 : DType::f32;
        value.set_grad_buffer(Tensor::empty(value.shape(), summed, MemoryKind::device), true);
      }
    }
  }
  ~ParametersOnDevice() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].value.set_grad_buffer({});
      parameters_[i].value.set_data(before_[i]);
    }
  }
  ParametersOnDevice(const ParametersOnDevice&) = delete;
  ParametersOnDevice& operator=(const ParametersOnDevice&) = delete;

 private:
  std::vector<nn::NamedParameter> parameters_;
  std::vector<Tensor> before_;
};

/// Bytes in use since it began: those of the device, and of the host, where scalars are.
class LiveBytes {
 public:
  explicit LiveBytes(const runtime::Device& device)
      : device_(device), before_(device_bytes()), host_before_(memory_stats().live_bytes) {}
  [[nodiscard]] std::size_t now() const {
    return device_bytes() + memory_stats().live_bytes - before_ - host_before_;
  }

 private:
  [[nodiscard]] std::size_t device_bytes() const {
    return device_.stats(MemoryKind::device).live_bytes;
  }
  const runtime::Device& device_;
  std::size_t before_;
  std::size_t host_before_;
};

}  // namespace

ActivationPeak measure_activations(nn::Module& module, const MeasureOptions& options,
                                   const std::function<nn::Variable(nn::Module&)>& loss) {
  std::function<void()> sample;
  const std::shared_ptr<runtime::Device> device =
      runtime::make_counting({.native_bf16 = options.native_products,
                              .threads = options.threads,
                              .on_allocate = [&sample](std::size_t) {
                                if (sample) {
                                  sample();
                                }
                              }});
  const runtime::DeviceScope scope(device);
  const ParametersOnDevice parameters(module, options.dtype);
  const LiveBytes live(*device);
  const Places places(module, [&live] { return live.now(); });
  ActivationPeak peak;
  sample = [&] {
    if (const std::size_t bytes = live.now(); bytes > peak.bytes) {
      peak.bytes = bytes;
      peak.at = places.now();
    }
  };
  {
    const nn::Variable result = loss(module);
    peak.kept = live.now();
    autograd::backward(result);
  }
  peak.block = places.kept_by_an_element();
  sample = {};
  return peak;
}

}  // namespace sherd::plan
