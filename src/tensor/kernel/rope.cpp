#include "sherd/tensor/kernel/rope.hpp"

#include <cmath>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/rope.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

struct Sizes {
  std::int64_t batch, heads, seq, head_dim;
};

Sizes require_rope(const Tensor& rows, const Tensor& packed, const RopeTables* tables) {
  require_memory({&packed}, "rope: the packed tensor");
  expect(packed.shape().rank() == 4,
         "rope: the packed tensor must be [batch, heads, seq, head_dim]");
  const Sizes sizes{packed.size(0), packed.size(1), packed.size(2), packed.size(3)};
  require_like(rows, Shape{sizes.batch * sizes.seq, sizes.heads * sizes.head_dim}, packed.dtype(),
               "rope: the unpacked tensor");
  if (tables != nullptr) {
    expect(sizes.head_dim % 2 == 0,
           "rope: an odd head_dim (halves are rotated against each other)");
    const DType dtype = compute_dtype(packed.dtype());
    for (const Tensor* table : {&tables->cos, &tables->sin}) {
      require_memory({table}, "rope: table");
      expect(table->shape().rank() == 2 && table->dtype() == dtype && table->size(0) >= sizes.seq &&
                 table->size(1) == sizes.head_dim / 2,
             "rope: tables must be [positions >= seq, head_dim/2] in f32 (f64 for f64)");
    }
  }
  return sizes;
}

runtime::Device* device_of_rope(const Tensor& rows, const Tensor& packed,
                                const RopeTables* tables) {
  return tables != nullptr ? device_of({&rows, &packed, &tables->cos, &tables->sin}, "rope")
                           : device_of({&rows, &packed}, "rope");
}

template <class A>
void fill_tables(const RopeTables& tables, std::span<const double> frequencies) {
  const std::int64_t positions = tables.cos.size(0);
  const std::int64_t half = tables.cos.size(1);
  A* cos = tables.cos.data<A>();
  A* sin = tables.sin.data<A>();
  for (std::int64_t i = 0; i < half; ++i) {
    const double frequency = frequencies[static_cast<std::size_t>(i)];
    for (std::int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * frequency;
      cos[p * half + i] = static_cast<A>(std::cos(angle));
      sin[p * half + i] = static_cast<A>(std::sin(angle));
    }
  }
}

}  // namespace

std::vector<double> rope_frequencies(std::int64_t head_dim, double theta) {
  expect(head_dim > 0 && head_dim % 2 == 0 && theta > 0,
         "rope_frequencies: needs an even head_dim > 0 and theta > 0");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    frequencies.push_back(std::pow(theta, -static_cast<double>(i) / static_cast<double>(head_dim)));
  }
  return frequencies;
}

RopeTables make_rope_tables(std::int64_t positions, std::int64_t head_dim, double theta,
                            DType dtype, MemoryKind where) {
  return make_rope_tables(positions, rope_frequencies(head_dim, theta), dtype, where);
}

RopeTables make_rope_tables(std::int64_t positions, std::span<const double> frequencies,
                            DType dtype, MemoryKind where) {
  expect(positions >= 0 && !frequencies.empty(),
         "make_rope_tables: needs positions >= 0 and a frequency for each pair of elements");
  expect(dtype == DType::f32 || dtype == DType::f64, "make_rope_tables: tables are f32 or f64");
  const Shape shape{positions, static_cast<std::int64_t>(frequencies.size())};
  RopeTables tables{Tensor::empty(shape, dtype), Tensor::empty(shape, dtype)};
  if (dtype == DType::f64) {
    fill_tables<double>(tables, frequencies);
  } else {
    fill_tables<float>(tables, frequencies);
  }
  if (where == MemoryKind::device) {
    return {to_device(tables.cos), to_device(tables.sin)};
  }
  return tables;
}

void rope_pack(const Tensor& x, const RopeTables* tables, const Tensor& y, Path path) {
  const Sizes sizes = require_rope(x, y, tables);
  runtime::Device* device = device_of_rope(x, y, tables);
  visit_dtype(y.dtype(), "rope_pack", [&]<class T>(T) {
    using A = Compute<T>;
    const RopePack<T> body{x.data<T>(),
                           y.data<T>(),
                           tables != nullptr ? tables->cos.data<A>() : nullptr,
                           tables != nullptr ? tables->sin.data<A>() : nullptr,
                           sizes.heads,
                           sizes.seq,
                           sizes.head_dim};
    launch("sherd::rope_pack", body, sizes.batch * sizes.seq, device, path);
  });
}

void rope_unpack(const Tensor& dy, const RopeTables* tables, const Tensor& dx, Write write_dx,
                 Path path) {
  const Sizes sizes = require_rope(dx, dy, tables);
  runtime::Device* device = device_of_rope(dx, dy, tables);
  visit_dtype(dy.dtype(), "rope_unpack", [&]<class T>(T) {
    using A = Compute<T>;
    const RopeUnpack<T> body{dy.data<T>(),
                             dx.data<T>(),
                             tables != nullptr ? tables->cos.data<A>() : nullptr,
                             tables != nullptr ? tables->sin.data<A>() : nullptr,
                             sizes.heads,
                             sizes.seq,
                             sizes.head_dim,
                             write_dx == Write::accumulate};
    launch("sherd::rope_unpack", body, sizes.batch * sizes.seq, device, path);
  });
}

}  // namespace sherd::kernel
