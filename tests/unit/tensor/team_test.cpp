// Every kernel on the host gives the same bits for any number of threads.
#include "sherd/runtime/team.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "sherd/tensor/kernel/attention.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
#include "sherd/tensor/kernel/embedding.hpp"
#include "sherd/tensor/kernel/matmul.hpp"
#include "sherd/tensor/kernel/norm.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "sherd/tensor/kernel/rope.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/product_panels.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::make_i32;
using test::same_bits;
using Results = std::vector<Tensor>;

constexpr int kTeams[] = {2, 3, 4, 7};
/// Rows and columns that no block divides.
constexpr std::int64_t kRows = 123;
constexpr std::int64_t kWide = 197;

/// As test::random(), for many elements.
Tensor random(const Shape& shape, DType dtype, std::uint32_t seed, float scale = 1.0F) {
  const Tensor values = Tensor::empty(shape, DType::f32);
  std::uint32_t state = seed * 0x9E3779B9U;
  for (float *at = values.data<float>(), *end = at + values.numel(); at != end; ++at) {
    state = state * 1664525U + 1013904223U;
    *at = scale * (static_cast<float>(state >> 8) * 0x1p-23F - 1.0F);
  }
  return to_dtype(values, dtype);
}

DType wide(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }
Tensor matrix(DType dtype, unsigned seed) { return random(Shape{kRows, kWide}, dtype, seed, 2.0F); }
Tensor row(DType dtype, unsigned seed) { return random(Shape{kWide}, dtype, seed); }
/// Longer than a few grains of elementwise kernels.
Tensor line(DType dtype, unsigned seed) { return random(Shape{70'001}, dtype, seed); }
Tensor number(double value) {
  Tensor tensor = Tensor::empty(Shape{1}, DType::f64);
  *tensor.data<double>() = value;
  return tensor;
}

Results elementwise(DType dtype) {
  const Tensor gate = line(dtype, 1), up = line(dtype, 2), dy = line(dtype, 3);
  Results out(8);
  for (Tensor& tensor : out) {
    tensor = line(dtype, 4);
  }
  swiglu_forward(gate, up, out[0]);
  swiglu_backward(gate, up, dy, out[1], out[2]);
  activation_forward(Activation::gelu_tanh, gate, out[3]);
  activation_backward(Activation::tanh, gate, dy, out[4], Write::accumulate);
  add(gate, up, out[5]);
  scale_into(0.3, gate, out[6], Write::accumulate);
  copy(gate, out[7]);
  out.push_back(to_dtype(gate, DType::f32));
  out.push_back(random(Shape{300'000}, dtype, 5));  // several pieces of memory
  out.push_back(out.back().clone());
  out.back().fill_zero();
  return out;
}

Results rows(DType dtype) {
  const Tensor x = matrix(dtype, 1), dy = matrix(dtype, 2), weight = row(dtype, 3);
  Results out{matrix(dtype, 4), matrix(dtype, 4), matrix(dtype, 4), row(wide(dtype), 5),
              row(wide(dtype), 6)};
  const Tensor inv = Tensor::empty(Shape{kRows}, wide(dtype));
  rms_norm_forward(x, weight, 1e-5, out[0], inv);
  rms_norm_backward(x, weight, inv, dy, out[1], Write::accumulate, out[3], Write::accumulate);
  add_bias(x, weight, out[2]);
  sum_rows(dy, out[4], Write::accumulate);
  out.push_back(inv);
  return out;
}

Results loss(DType dtype) {
  std::vector<std::int32_t> classes;
  for (std::int64_t i = 0; i < kRows; ++i) {
    classes.push_back(static_cast<std::int32_t>(i * 37 % kWide) - (i % 11 == 0 ? 200 : 0));
  }
  const Tensor logits = matrix(dtype, 1), targets = make_i32(classes);
  const Tensor lse = Tensor::empty(Shape{kRows}, wide(dtype));
  const Tensor sum = number(cross_entropy_forward(logits, targets, lse));
  const Tensor dlogits = matrix(dtype, 2);
  cross_entropy_backward(logits, targets, lse, 0.1, dlogits);
  return {sum, lse, dlogits};
}

Results embedding(DType dtype) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 500; ++i) {
    tokens.push_back(i * i % static_cast<std::int32_t>(kRows));
  }
  const Tensor table = matrix(dtype, 1), ids = make_i32(tokens);
  const Tensor dout = random(Shape{500, kWide}, dtype, 2);
  const Tensor out = dout.clone(), dtable = matrix(wide(dtype), 3);
  embedding_forward(table, ids, out);
  embedding_backward(ids, dout, dtable, Write::accumulate);
  return {out, dtable};
}

Results rope(DType dtype) {
  constexpr std::int64_t kBatch = 2, kSeq = 37, kHeads = 3, kDim = 8;
  const RopeTables tables = make_rope_tables(kSeq, kDim, 1e4, wide(dtype));
  const Tensor x = random(Shape{kBatch * kSeq, kHeads * kDim}, dtype, 1);
  const Tensor y = random(Shape{kBatch, kHeads, kSeq, kDim}, dtype, 2), dx = x.clone();
  rope_pack(x, &tables, y);
  rope_unpack(y, &tables, dx, Write::accumulate);
  return {y, dx};
}

Results attention_of(DType dtype, std::int64_t kv_heads) {
  constexpr std::int64_t kBatch = 2, kSeq = 70, kHeads = 6, kDim = 16;
  const Shape queries{kBatch, kHeads, kSeq, kDim}, keys{kBatch, kv_heads, kSeq, kDim};
  const Tensor q = random(queries, dtype, 1), k = random(keys, dtype, 2),
               v = random(keys, dtype, 3);
  const Tensor out = random(Shape{kBatch * kSeq, kHeads * kDim}, dtype, 4), dout = out.clone();
  const Tensor lse = Tensor::empty(Shape{kBatch, kHeads, kSeq}, wide(dtype));
  const Tensor dq = q.clone(), dk = k.clone(), dv = v.clone();
  attention_forward(q, k, v, out, lse);
  attention_backward(q, k, v, out, lse, dout, dq, dk, dv);
  return {out, lse, dq, dk, dv};
}

Results attention(DType dtype) {
  Results all = attention_of(dtype, 6);
  for (const Tensor& tensor : attention_of(dtype, 2)) {
    all.push_back(tensor);
  }
  return all;
}

Results gradients(DType dtype) {
  const std::vector<Tensor> sources{line(wide(dtype), 1), line(wide(dtype), 2)};
  Results out{line(wide(dtype), 3), line(wide(dtype), 4)};
  const auto stats = [&](const GradStats& of) {
    out.push_back(number(of.sum_of_squares));
    out.push_back(number(static_cast<double>(of.nonfinite)));
  };
  stats(sum_sources(sources, out[0], true));
  stats(grad_stats(line(dtype, 5)));
  out.push_back(number(grad_power_sum(line(dtype, 5), NormKind::l3)));
  if (dtype != DType::f64) {
    const std::vector<Tensor> narrow{line(dtype, 1), line(dtype, 2)};
    stats(sum_rounded_sources(narrow, dtype, out[1], true));
    out.push_back(narrow_in_place(line(DType::f32, 6), dtype));
  }
  return out;
}

Results optimizers(DType dtype) {
  const DType master = wide(dtype);
  Results out{line(master, 1), line(master, 2), line(master, 3),
              line(dtype, 4),  line(master, 5), line(master, 6)};
  const Tensor grad = line(dtype, 7);
  // The second average is a sum of squares.
  scale_into(0.0, out[2], out[2], Write::overwrite);
  adamw_step({.weight_decay = 0.1, .grad_scale = 0.5, .step = 3}, out[0], grad, out[1], out[2],
             out[3]);
  sgd_step({.momentum = 0.9}, out[4], grad, out[5], Tensor());
  return out;
}

struct Kernels {
  const char* name;
  Results (*run)(DType);
};
constexpr Kernels kKernels[] = {{"elementwise", elementwise},
                                {"rows", rows},
                                {"loss", loss},
                                {"embedding", embedding},
                                {"rope", rope},
                                {"attention", attention},
                                {"gradients", gradients},
                                {"optimizers", optimizers}};

void expect_same(const Results& one, const Results& many, const std::string& what) {
  ASSERT_EQ(one.size(), many.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(same_bits(one[i], many[i])) << what << ", result " << i;
  }
}

TEST(Threads, DoNotChangeTheBitsOfKernels) {
  for (const auto& [name, run] : kKernels) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      const Results one = run(dtype);
      for (const int threads : kTeams) {
        runtime::Team team({threads, {}, false});
        const runtime::TeamScope scope(&team);
        expect_same(one, run(dtype),
                    std::string(name) + " in " + std::string(to_string(dtype)) + " by " +
                        std::to_string(threads));
      }
    }
  }
}

struct Sizes {
  std::int64_t m, n, k;
};

/// Sizes that are cut along rows, along columns and both, with rests; the last is not.
constexpr Sizes kProducts[] = {
    {300, 520, 260}, {530, 700, 101}, {130, 1100, 260}, {1030, 1090, 700}, {17, 33, 65}};

/// A forward, a gradient of the input and an accumulated one of a weight.
enum class Form : std::uint8_t { forward, input, weight };

class Product {
 public:
  Product(const Sizes& s, DType in, DType out, Form form)
      : ta_(form == Form::weight ? Transpose::yes : Transpose::no),
        tb_(form == Form::forward ? Transpose::yes : Transpose::no),
        write_(form == Form::weight ? Write::accumulate : Write::overwrite),
        a_(random(form == Form::weight ? Shape{s.k, s.m} : Shape{s.m, s.k}, in, 1)),
        b_(random(form == Form::forward ? Shape{s.n, s.k} : Shape{s.k, s.n}, in, 2)),
        c_(random(Shape{s.m, s.n}, out, 3)) {}

  [[nodiscard]] Tensor operator()() const {
    Tensor c = c_.clone();
    matmul(a_, ta_, b_, tb_, c, write_);
    return c;
  }

 private:
  Transpose ta_, tb_;
  Write write_;
  Tensor a_, b_, c_;
};

void expect_same_product(const Sizes& s, DType in, DType out, Form form) {
  const Product product(s, in, out, form);
  const Tensor one = product();
  for (const int threads : kTeams) {
    runtime::Team team({threads, {}, false});
    const runtime::TeamScope scope(&team);
    EXPECT_TRUE(same_bits(one, product()))
        << s.m << "x" << s.n << "x" << s.k << " of " << to_string(in) << ", form "
        << static_cast<int>(form) << ", by " << threads;
  }
}

TEST(Threads, DoNotChangeTheBitsOfProducts) {
  const std::pair<DType, DType> types[] = {
      {DType::f32, DType::f32}, {DType::bf16, DType::bf16}, {DType::bf16, DType::f32}};
  for (const Sizes& sizes : kProducts) {
    for (const auto& [in, out] : types) {
      for (const Form form : {Form::forward, Form::input, Form::weight}) {
        expect_same_product(sizes, in, out, form);
      }
    }
  }
}

/// Nothing else knows the threads: a panel would show the number in the bits.
TEST(Panels, CoverTheResultInPartsThatAreWorthAHandOver) {
  for (const bool avx512 : {true, false}) {
    for (const Sizes& s : {Sizes{1024, 512, 512}, Sizes{1024, 1536, 512}, Sizes{2048, 2048, 2048},
                           Sizes{1, 128'256, 4096}, Sizes{8192, 512, 1024}, Sizes{1, 4096, 4096},
                           Sizes{529, 511, 777}}) {
      const Panels panels = panels_of({s.m, s.n, s.k}, avx512);
      EXPECT_GE(panels.rows, 1);
      EXPECT_GE(panels.cols, 1);
      EXPECT_LT(panels.rows * panels.cols, s.m * s.n) << s.m << "x" << s.n << "x" << s.k;
    }
    EXPECT_EQ(panels_of({64, 64, 64}, avx512), (Panels{64, 64}));
  }
  EXPECT_EQ(panels_of({1024, 1536, 512}, true), (Panels{256, 1536}));
  EXPECT_EQ(panels_of({1376, 512, 1024}, true), (Panels{352, 512}));  // 4, not 5
  EXPECT_EQ(panels_of({768, 512, 1024}, true), (Panels{384, 512}));
  EXPECT_EQ(panels_of({2048, 2048, 2048}, true), (Panels{512, 512}));
}

TEST(Launch, CutsItemsIntoWholeGrainsForEveryThread) {
  EXPECT_EQ(items_of_block(100, 8, 2), 16);
  EXPECT_EQ(items_of_block(9, 8, 2), 8);
  EXPECT_EQ(items_of_block(16384 * 8, 16384, 2), 16384);
  EXPECT_EQ(items_of_block(1 << 24, 16384, 4), (1 << 24) / 16);
}

}  // namespace
}  // namespace sherd::kernel
