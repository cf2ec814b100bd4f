// Every kernel on device tensors against the host's: on the emulated device the same bits, out of
// streams that are worked off late and memory the host cannot touch; on a CUDA device the same
// numbers up to rounding.

#include <gtest/gtest.h>

#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/attention.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
#include "sherd/tensor/kernel/embedding.hpp"
#include "sherd/tensor/kernel/norm.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "sherd/tensor/kernel/rope.hpp"
#include "unit/tensor/device_kernels.hpp"

namespace sherd {
namespace {

using kernel::Transpose;
using kernel::Write;
using test::DeviceKernels;
using test::Tensors;

TEST_P(DeviceKernels, Elementwise) {
  const Shape shape{37, 100};
  expect_same({random(shape), random(shape), random(shape), random(shape), random(shape)},
              [](const Tensors& t) {
                kernel::swiglu_forward(t[0], t[1], t[2]);
                kernel::swiglu_backward(t[0], t[1], t[2], t[3], t[4]);
                kernel::add(t[3], t[4], t[2]);
              });
  for (const auto kind : {kernel::Activation::relu, kernel::Activation::tanh,
                          kernel::Activation::silu, kernel::Activation::gelu_tanh}) {
    expect_same({random(shape), random(shape), random(shape)}, [kind](const Tensors& t) {
      kernel::activation_forward(kind, t[0], t[1]);
      kernel::activation_backward(kind, t[0], t[1], t[2], Write::accumulate);
    });
  }
}

TEST_P(DeviceKernels, ScaleBiasAndConvert) {
  const Shape shape{19, 33};
  expect_same({random(shape), random(Shape{33}), random(shape), wide(Shape{33}), wide(shape)},
              [](const Tensors& t) {
                kernel::add_bias(t[0], t[1], t[2]);
                kernel::sum_rows(t[2], t[3], Write::accumulate);
                kernel::scale_into(0.3, t[2], t[4], Write::accumulate);
                kernel::scale_into(0.7, t[4], t[0], Write::overwrite);
              });
  for (const DType to : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    expect_same({random(shape), test::random(shape, to, 9)},
                [](const Tensors& t) { convert(t[0], t[1]); });
  }
}

TEST_P(DeviceKernels, Norm) {
  const Shape shape{21, 48};
  expect_same({random(shape), random(Shape{48}), random(shape), wide(Shape{21}), random(shape),
               random(shape), wide(Shape{48})},
              [](const Tensors& t) {
                kernel::rms_norm_forward(t[0], t[1], 1e-5, t[2], t[3]);
                kernel::rms_norm_backward(t[0], t[1], t[3], t[4], t[5], Write::accumulate, t[6],
                                          Write::overwrite);
              });
}

TEST_P(DeviceKernels, Rope) {
  const auto on_host = kernel::make_rope_tables(16, 8, 1e4, wide_type());
  const auto on_device = kernel::make_rope_tables(16, 8, 1e4, wide_type(), MemoryKind::device);
  EXPECT_TRUE(on_device.cos.is_on_device());
  expect_same({random(Shape{2 * 16, 3 * 8}), random(Shape{2, 3, 16, 8}), random(Shape{2 * 16, 24})},
              [&](const Tensors& t) {
                const auto* tables = t[0].is_on_device() ? &on_device : &on_host;
                kernel::rope_pack(t[0], tables, t[1]);
                kernel::rope_unpack(t[1], tables, t[2], Write::accumulate);
                kernel::rope_unpack(t[1], nullptr, t[0], Write::overwrite);
              });
}

TEST_P(DeviceKernels, Attention) {
  const std::int64_t seq = 100;  // two blocks, the second not whole
  const Shape q{2, 4, seq, 16};
  const Shape kv{2, 2, seq, 16};
  const Shape rows{2 * seq, 64};
  expect_same({random(q), random(kv), random(kv), random(rows), wide(Shape{2, 4, seq}),
               random(rows), random(q), random(kv), random(kv)},
              [](const Tensors& t) {
                kernel::attention_forward(t[0], t[1], t[2], t[3], t[4]);
                kernel::attention_backward(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]);
              });
}

TEST_P(DeviceKernels, Products) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      expect_same(
          {random(ta ? Shape{17, 33} : Shape{33, 17}), random(tb ? Shape{9, 17} : Shape{17, 9}),
           random(Shape{33, 9}), wide(Shape{33, 9})},
          [ta, tb](const Tensors& t) {
            const auto a = ta ? Transpose::yes : Transpose::no;
            const auto b = tb ? Transpose::yes : Transpose::no;
            kernel::matmul(t[0], a, t[1], b, t[2]);
            kernel::matmul(t[0], a, t[1], b, t[3], Write::accumulate);
          });
    }
  }
  expect_same(
      {random(Shape{3, 0}), random(Shape{0, 4}), random(Shape{3, 4})},
      [](const Tensors& t) { kernel::matmul(t[0], Transpose::no, t[1], Transpose::no, t[2]); });
}

TEST_P(DeviceKernels, Embedding) {
  const Tensor ids = test::make_i32({3, 0, 49, 3, 3, 7, 32});
  for (const bool ids_on_device : {false, true}) {
    expect_same({random(Shape{50, 12}), random(Shape{7, 12}), wide(Shape{50, 12})},
                [&](const Tensors& t) {
                  const bool there = ids_on_device && t[0].is_on_device();
                  const Tensor here = there ? to_device(ids) : ids;
                  kernel::embedding_forward(t[0], here, t[1]);
                  kernel::embedding_backward(here, t[1], t[2], Write::accumulate);
                });
  }
}

TEST_P(DeviceKernels, CrossEntropy) {
  const Tensor targets = test::make_i32({3, -1, 99, 0, 50});
  const Tensor logits = random(Shape{5, 100});
  std::vector<double> losses;
  expect_same({logits, wide(Shape{5}), random(Shape{5, 100})}, [&](const Tensors& t) {
    losses.push_back(kernel::cross_entropy_forward(t[0], targets, t[1]));
    kernel::cross_entropy_backward(t[0], targets, t[1], 0.25, t[2]);
    kernel::cross_entropy_backward(t[0], targets, t[1], 0.5, t[0]);
  });
  expect_same(losses[0], losses[1]);
}

TEST_P(DeviceKernels, UncheckedIdsMakeNaN) {
  const Tensor table = to_device(random(Shape{5, 3}));
  const Tensor rows = to_device(random(Shape{2, 3}));
  kernel::embedding_forward(table, to_device(test::make_i32({4, 5})), rows);
  const test::Values read = test::values_of(to_host(rows));
  EXPECT_FALSE(std::isnan(read[0]));
  EXPECT_TRUE(std::isnan(read[3]));
  const Tensor lse = to_device(wide(Shape{1}));
  EXPECT_TRUE(std::isnan(kernel::cross_entropy_forward(to_device(random(Shape{1, 5})),
                                                       to_device(test::make_i32({5})), lse)));
}

TEST_P(DeviceKernels, Statistics) {
  const Tensor values = random(Shape{10000});
  const Tensor there = to_device(values);
  const kernel::GradStats host = kernel::grad_stats(values);
  const kernel::GradStats device = kernel::grad_stats(there);
  EXPECT_EQ(host.sum_of_squares, device.sum_of_squares);
  EXPECT_EQ(host.nonfinite, device.nonfinite);
  for (const auto kind : {kernel::NormKind::l1, kernel::NormKind::l3, kernel::NormKind::max}) {
    EXPECT_EQ(kernel::grad_power_sum(values, kind), kernel::grad_power_sum(there, kind));
  }
  EXPECT_EQ(kernel::first_nonfinite(there), -1);
  test::Values bad(9000, 1.0);
  bad[5003] = test::kInf;
  bad[8000] = test::kNan;
  const Tensor broken = to_device(test::make(Shape{9000}, dtype(), bad));
  EXPECT_EQ(kernel::first_nonfinite(broken), 5003);
  EXPECT_EQ(kernel::grad_stats(broken).nonfinite, 2);
}

TEST_P(DeviceKernels, Sums) {
  const Shape shape{9001};
  std::vector<kernel::GradStats> stats;
  for (const bool accumulate : {false, true}) {
    expect_same({wide(shape), wide(shape), wide(shape)}, [&](const Tensors& t) {
      const Tensors sources(t.begin(), t.begin() + 2);
      stats.push_back(kernel::sum_sources(sources, t[2], accumulate));
      stats.push_back(kernel::sum_sources({}, t[2], true));
    });
  }
  if (dtype() != DType::f64) {
    for (const DType rounded : {DType::f32, DType::bf16, DType::f16}) {
      expect_same({random(shape), wide(shape), random(shape), random(shape)},
                  [&](const Tensors& t) {
                    const Tensors sources(t.begin(), t.begin() + 3);
                    stats.push_back(kernel::sum_rounded_sources(sources, rounded, t[3], true));
                    stats.push_back(kernel::sum_rounded_sources(sources, rounded, t[3], false));
                  });
    }
  }
  for (std::size_t i = 0; i + 3 < stats.size(); i += 4) {  // host twice, device twice
    expect_same(stats[i].sum_of_squares, stats[i + 2].sum_of_squares);
    expect_same(stats[i + 1].sum_of_squares, stats[i + 3].sum_of_squares);
  }
}

TEST_P(DeviceKernels, StatisticsAreReadLater) {
  const Tensor grad = to_device(random(Shape{5000}));
  const kernel::PendingStats pending = kernel::begin_grad_stats(grad);
  grad.fill_zero();  // after it, in stream order
  EXPECT_GT(pending.read().sum_of_squares, 0.0);
  EXPECT_EQ(kernel::grad_stats(grad).sum_of_squares, 0.0);
  EXPECT_EQ(kernel::PendingStats().read().nonfinite, 0);
}

TEST_P(DeviceKernels, OptimizerSteps) {
  const Shape shape{5000};
  const Tensor narrow = test::random(shape, DType::bf16, 77);
  const bool has_f32 = wide_type() == DType::f32;
  expect_same({wide(shape), has_f32 ? random(shape) : narrow, wide(shape),
               Tensor::zeros(shape, wide_type()), narrow},
              [](const Tensors& t) {
                kernel::AdamWParams adamw;
                adamw.weight_decay = 0.1;
                kernel::adamw_step(adamw, t[0], t[1], t[2], t[3], t[4]);
                kernel::adamw_step(adamw, t[0], t[1], t[2], t[3], {});
                kernel::SgdParams sgd;
                sgd.momentum = 0.9;
                kernel::sgd_step(sgd, t[0], t[1], t[2], t[4]);
                kernel::sgd_step(sgd, t[0], t[1], {}, {});
              });
}

TEST_P(DeviceKernels, NarrowsInPlace) {
  if (dtype() == DType::f64) {
    EXPECT_THROW(
        static_cast<void>(kernel::narrow_in_place(to_device(random(Shape{4})), DType::bf16)),
        ArgumentError);
    return;
  }
  const Tensor from = test::random(Shape{10000}, DType::f32, 5);
  const Tensor narrow = kernel::narrow_in_place(to_device(from), dtype());
  EXPECT_TRUE(narrow.is_on_device());
  EXPECT_TRUE(test::same_bits(to_host(narrow), to_dtype(from, dtype())));
}

TEST_P(DeviceKernels, OperandsInTwoPlacesAreRefused) {
  const Tensor here = random(Shape{4, 4});
  const Tensor there = to_device(here);
  EXPECT_THROW(kernel::add(here, there, here), ArgumentError);
  EXPECT_THROW(kernel::matmul(there, Transpose::no, here, Transpose::no, there), ArgumentError);
  const runtime::DeviceScope elsewhere(nullptr);
  EXPECT_THROW(kernel::add(there, there, there), ArgumentError);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceKernels,
                         testing::Combine(testing::ValuesIn(test::device_kinds()),
                                          testing::Values(DType::f32, DType::f64, DType::bf16,
                                                          DType::f16)),
                         [](const auto& one) {
                           return std::get<0>(one.param).name + "_" +
                                  std::string(to_string(std::get<1>(one.param)));
                         });

}  // namespace
}  // namespace sherd
