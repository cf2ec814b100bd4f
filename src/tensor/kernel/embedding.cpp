#include "sherd/tensor/kernel/embedding.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/linear.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

/// Rows of `table` by id; checks every id first, so that nothing is written when one is wrong.
std::span<const std::int32_t> require_ids(const Tensor& table, const Tensor& ids,
                                          const Tensor& rows) {
  require_memory({&table, &ids}, "embedding");
  expect(table.shape().rank() == 2, "embedding: the table must be [vocab, dim]");
  expect(ids.dtype() == DType::i32, "embedding: ids must be i32");
  require_memory({&rows}, "embedding: rows");
  expect(rows.numel() == ids.numel() * table.size(1), "embedding: needs one row for each id");
  const std::span<const std::int32_t> values = ids.span<std::int32_t>();
  for (const std::int32_t id : values) {
    if (id < 0 || id >= table.size(0)) {
      throw ArgumentError(fmt::format(
          "embedding: id {} (the table has {} rows). Try: a tokenizer that fits the model", id,
          table.size(0)));
    }
  }
  return values;
}

}  // namespace

void embedding_forward(const Tensor& table, const Tensor& ids, const Tensor& out) {
  const auto values = require_ids(table, ids, out);
  expect(out.dtype() == table.dtype(), "embedding_forward: out must have the table's dtype");
  const std::size_t row_bytes = static_cast<std::size_t>(table.size(1)) * size_of(table.dtype());
  if (row_bytes == 0) {
    return;
  }
  std::byte* to = out.raw();
  for (const std::int32_t id : values) {
    std::memcpy(to, table.raw() + static_cast<std::size_t>(id) * row_bytes, row_bytes);
    to += row_bytes;
  }
}

void embedding_backward(const Tensor& ids, const Tensor& dout, const Tensor& dtable, Write write) {
  const auto values = require_ids(dtable, ids, dout);
  expect(dtable.dtype() == compute_dtype(dout.dtype()),
         "embedding_backward: dtable must be f32 (f64 for f64)");
  if (write == Write::overwrite) {
    dtable.fill_zero();
  }
  const std::int64_t dim = dtable.size(1);
  visit_dtype(dout.dtype(), "embedding_backward", [&]<class T>(T) {
    using A = Compute<T>;
    const T* from = dout.data<T>();
    A* table = dtable.data<A>();
    for (const std::int32_t id : values) {
      launch_host(ScaleInto<T, A>{from, table + id * dim, A{1}, true}, 0, dim);
      from += dim;
    }
  });
}

}  // namespace sherd::kernel
