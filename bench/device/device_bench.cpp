// What a device gives to the layers above: copies, products, kernels, collectives of one rank, and
// whether what other streams do runs beside products, all from events.
//   bench_device            on the first CUDA device
//   bench_device --emulated --scale 0.01   the same calls on the emulated device, to test the bench
// Prints one JSON line for each figure.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "sherd/tensor/kernel/attention.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
#include "sherd/tensor/kernel/embedding.hpp"
#include "sherd/tensor/kernel/norm.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"

namespace {

using namespace sherd;
using kernel::Transpose;

struct Options {
  bool emulated = false;
  double scale = 1.0;
  int repetitions = 10;
};

void report(const std::string& what, double value, const char* unit) {
  fmt::print("{{\"what\":\"{}\",\"value\":{:.4g},\"unit\":\"{}\"}}\n", what, value, unit);
}

class Bench {
 public:
  Bench(const Options& options, runtime::Device& device) : options_(options), device_(device) {}

  void run() {
    copies();
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      products(dtype);
    }
    kernels(DType::bf16);
    attention(DType::bf16);
    overlap();
    collectives();
  }

 private:
  /// A size of the full bench, scaled, in whole multiples of 8.
  [[nodiscard]] std::int64_t sized(std::int64_t full, double power = 1.0) const {
    const double scaled = static_cast<double>(full) * std::pow(options_.scale, power);
    return std::max<std::int64_t>(static_cast<std::int64_t>(scaled) / 8 * 8, 8);
  }
  [[nodiscard]] static Tensor on_device(const Shape& shape, DType dtype) {
    return Tensor::zeros(shape, dtype, MemoryKind::device);
  }
  /// Seconds of one call, from events on `stream`, after one to warm up.
  [[nodiscard]] double seconds(runtime::Stream& stream, const std::function<void()>& call) const {
    call();
    const runtime::Event before = stream.record(runtime::Timing::on);
    for (int i = 0; i < options_.repetitions; ++i) {
      call();
    }
    const runtime::Event after = stream.record(runtime::Timing::on);
    after.synchronize();
    return std::max(after.seconds_since(before), 1e-9) / options_.repetitions;
  }
  [[nodiscard]] double seconds(const std::function<void()>& call) const {
    return seconds(device_.compute_stream(), call);
  }

  void copies() const {
    const Tensor there = on_device(Shape{sized(std::int64_t{64} << 20)}, DType::f32);
    const Tensor here = Tensor::zeros(there.shape(), there.dtype(), MemoryKind::pinned);
    const double bytes = static_cast<double>(there.nbytes());
    report("copy to the device", bytes / seconds([&] { copy(here, there); }) / 1e9, "GB/s");
    report("copy to the host", bytes / seconds([&] { copy(there, here); }) / 1e9, "GB/s");
  }

  void products(DType dtype) const {
    const std::int64_t n = sized(4096, 0.5);
    const Tensor a = on_device(Shape{n, n}, dtype);
    const Tensor c = on_device(Shape{n, n}, dtype);
    const double flops = 2.0 * std::pow(static_cast<double>(n), 3);
    const double time = seconds([&] { kernel::matmul(a, Transpose::no, a, Transpose::yes, c); });
    report(fmt::format("product {}", to_string(dtype)), flops / time / 1e12, "TFLOP/s");
  }

  void kernels(DType dtype) const {
    const std::int64_t rows = sized(8192);
    const std::int64_t dim = sized(4096, 0.5);
    const Tensor x = on_device(Shape{rows, dim}, dtype);
    const Tensor y = on_device(Shape{rows, dim}, dtype);
    const double bytes = static_cast<double>(x.nbytes());
    const auto rate = [&](const char* name, double passes, const std::function<void()>& call) {
      report(name, passes * bytes / seconds(call) / 1e9, "GB/s");
    };
    const Tensor weight = on_device(Shape{dim}, dtype);
    const Tensor row_values = on_device(Shape{rows}, DType::f32);
    const Tensor sums = on_device(Shape{dim}, DType::f32);
    rate("swiglu", 3, [&] { kernel::swiglu_forward(x, x, y); });
    rate("rms_norm forward", 2, [&] { kernel::rms_norm_forward(x, weight, 1e-5, y, row_values); });
    rate("rms_norm backward", 5, [&] {
      kernel::rms_norm_backward(x, weight, row_values, x, y, kernel::Write::overwrite, sums,
                                kernel::Write::overwrite);
    });
    std::vector<kernel::PendingStats> unread;  // reading would wait for the device
    rate("gradient statistics", 1, [&] { unread.push_back(kernel::begin_grad_stats(x)); });
    const Tensor targets = Tensor::zeros(Shape{rows}, DType::i32, MemoryKind::device);
    rate("cross-entropy backward", 2,
         [&] { kernel::cross_entropy_backward(x, targets, row_values, 1.0, y); });
    const Tensor state = on_device(Shape{x.numel()}, DType::f32);
    rate("adamw", 18, [&] {  // 7 of f32, 2 of bf16, in units of bf16
      kernel::adamw_step({}, state, x.reshape(state.shape()), state, state,
                         y.reshape(state.shape()));
    });
  }

  void attention(DType dtype) const {
    const std::int64_t heads = 16;
    const std::int64_t seq = sized(2048, 0.5);
    const Shape packed{1, heads, seq, 128};
    const Tensor q = on_device(packed, dtype);
    const Tensor out = on_device(Shape{seq, heads * 128}, dtype);
    const Tensor lse = on_device(Shape{1, heads, seq}, DType::f32);
    const double flops = 2.0 * static_cast<double>(heads * seq * seq * 128);  // half of 4: causal
    report("attention forward",
           flops / seconds([&] { kernel::attention_forward(q, q, q, out, lse); }) / 1e12,
           "TFLOP/s");
    const Tensor grad = on_device(packed, dtype);
    report("attention backward",
           2.5 * flops / seconds([&] {
             kernel::attention_backward(q, q, q, out, lse, out, grad, grad, grad);
           }) / 1e12,
           "TFLOP/s");
  }

  /// Of the shorter of products and copies: which part ran beside the longer.
  void overlap() const {
    const auto other = device_.make_stream();
    runtime::Stream& compute = device_.compute_stream();
    const std::int64_t n = sized(4096, 0.5);
    const Tensor a = on_device(Shape{n, n}, DType::bf16);
    const Tensor c = on_device(Shape{n, n}, DType::bf16);
    const Tensor there = on_device(Shape{sized(std::int64_t{32} << 20)}, DType::f32);
    const Tensor here = Tensor::zeros(there.shape(), there.dtype(), MemoryKind::pinned);
    device_.synchronize();
    const auto product = [&] { kernel::matmul(a, Transpose::no, a, Transpose::yes, c); };
    const auto move = [&] { other->copy(here.raw(), there.raw(), there.nbytes()); };
    const double computing = seconds(compute, product);
    const double copying = seconds(*other, move);
    const double both = seconds(compute, [&] {
      other->wait(compute.record());
      move();
      product();
      compute.wait(other->record());
    });
    report("copy beside products",
           100.0 * (computing + copying - both) / std::min(computing, copying), "% hidden");
    device_.synchronize();
  }

  /// Of one rank: NCCL on a GPU. A sum over one rank changes nothing, which is checked.
  void collectives() const {
    const auto self = comm::make_self();
    const auto comm = options_.emulated ? comm::make_on_device(*self) : comm::make_nccl(*self);
    const Tensor ones = Tensor::empty(Shape{sized(std::int64_t{32} << 20)}, DType::f32);
    std::fill_n(ones.data<float>(), ones.numel(), 1.0F);
    const Tensor x = to_device(ones);
    const std::int64_t n = sized(4096, 0.5);
    const Tensor a = on_device(Shape{n, n}, DType::bf16);
    const Tensor c = on_device(Shape{n, n}, DType::bf16);
    const auto product = [&] { kernel::matmul(a, Transpose::no, a, Transpose::yes, c); };
    const auto reduce = [&] {
      return comm->all_reduce(x.raw(), x.raw(), static_cast<std::size_t>(x.numel()), DType::f32,
                              comm::ReduceOp::sum);
    };
    const double computing = seconds(product);
    const double reducing = seconds([&] { reduce().wait(); });
    const double both = seconds([&] {
      comm::Work work = reduce();
      product();
      work.wait();
    });
    report("all_reduce of one rank", static_cast<double>(x.nbytes()) / reducing / 1e9, "GB/s");
    report("all_reduce beside products",
           100.0 * (computing + reducing - both) / std::min(computing, reducing), "% hidden");
    const Tensor read = to_host(x);
    const auto all = read.span<float>();
    if (!std::all_of(all.begin(), all.end(), [](float value) { return value == 1.0F; })) {
      throw CommError("an all_reduce of one rank changed its numbers");
    }
  }

  Options options_;
  runtime::Device& device_;
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("bench_device: copies, products, kernels and overlap on a device");
  app.add_flag("--emulated", options.emulated, "on the emulated device");
  app.add_option("--scale", options.scale, "of the sizes");
  app.add_option("--repetitions", options.repetitions, "of each call")->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  try {
    const auto device = options.emulated ? runtime::make_emulated() : runtime::open_cuda(0);
    const runtime::DeviceScope scope(device);
    Bench(options, *device).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_device: {}\n", error.what());
    return 2;
  }
  return 0;
}
