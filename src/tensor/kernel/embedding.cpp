#include "sherd/tensor/kernel/embedding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/embedding.hpp"
#include "tensor/kernel/body/linear.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

void require_embedding(const Tensor& table, const Tensor& ids, const Tensor& rows) {
  require_memory({&table, &ids}, "embedding");
  expect(table.shape().rank() == 2, "embedding: the table must be [vocab, dim]");
  expect(ids.dtype() == DType::i32, "embedding: ids must be i32");
  require_memory({&rows}, "embedding: rows");
  expect(rows.numel() == ids.numel() * table.size(1), "embedding: needs one row for each id");
}

/// Checks every id the host can read, so that nothing is written when one is wrong.
void require_ids(const Tensor& ids, std::int64_t vocab) {
  if (ids.is_on_device()) {
    return;
  }
  for (const std::int32_t id : ids.span<std::int32_t>()) {
    if (id < 0 || id >= vocab) {
      throw ArgumentError(fmt::format(
          "embedding: id {} (the table has {} rows). Try: a tokenizer that fits the model", id,
          vocab));
    }
  }
}

/// What a thread gathers at a time.
constexpr std::size_t kGatherBytes = 64 * 1024;

void gather_on_host(const Tensor& table, const Tensor& ids, const Tensor& out) {
  const std::size_t row_bytes = static_cast<std::size_t>(table.size(1)) * size_of(table.dtype());
  if (row_bytes == 0) {
    return;
  }
  const auto rows = ids.span<std::int32_t>();
  const std::size_t together = kGatherBytes / row_bytes + 1;
  const std::size_t blocks = (rows.size() + together - 1) / together;
  runtime::for_blocks(static_cast<std::int64_t>(blocks), [&](std::int64_t block) {
    const std::size_t first = static_cast<std::size_t>(block) * together;
    for (std::size_t row = first; row < std::min(first + together, rows.size()); ++row) {
      std::memcpy(out.raw() + row * row_bytes,
                  table.raw() + static_cast<std::size_t>(rows[row]) * row_bytes, row_bytes);
    }
  });
}

/// A thread adds to columns of its own, in the order of the ids.
template <class T>
void scatter_on_host(const Tensor& ids, const T* from, const Tensor& dtable) {
  using A = Compute<T>;
  constexpr std::int64_t kColumns = 128;
  const std::int64_t dim = dtable.size(1);
  const std::int64_t width = runtime::team_threads() == 1 ? dim : kColumns;
  runtime::for_blocks(dim == 0 ? 0 : (dim + width - 1) / width, [&](std::int64_t block) {
    const std::int64_t first = block * width;
    const std::int64_t count = std::min(width, dim - first);
    const T* row = from + first;
    for (const std::int32_t id : ids.span<std::int32_t>()) {
      run_items(ScaleInto<T, A>{row, dtable.data<A>() + id * dim + first, A{1}, true}, 0, count);
      row += dim;
    }
  });
}

}  // namespace

void embedding_forward(const Tensor& table, const Tensor& ids, const Tensor& out) {
  require_embedding(table, ids, out);
  require_ids(ids, table.size(0));
  expect(out.dtype() == table.dtype(), "embedding_forward: out must have the table's dtype");
  runtime::Device* device = device_of({&table, &out}, "embedding_forward");
  if (device == nullptr) {
    return gather_on_host(table, ids, out);
  }
  const Tensor rows = to_device(ids);
  visit_dtype(table.dtype(), "embedding_forward", [&]<class T>(T) {
    const EmbeddingRows<T> body{table.data<T>(), rows.data<std::int32_t>(), out.data<T>(),
                                table.size(0), table.size(1)};
    launch_device(*device, "sherd::embedding_forward", body, out.numel());
  });
}

void embedding_backward(const Tensor& ids, const Tensor& dout, const Tensor& dtable, Write write) {
  require_embedding(dtable, ids, dout);
  require_ids(ids, dtable.size(0));
  expect(dtable.dtype() == compute_dtype(dout.dtype()),
         "embedding_backward: dtable must be f32 (f64 for f64)");
  runtime::Device* device = device_of({&dout, &dtable}, "embedding_backward");
  if (write == Write::overwrite) {
    dtable.fill_zero();
  }
  visit_dtype(dout.dtype(), "embedding_backward", [&]<class T>(T) {
    if (device == nullptr) {
      return scatter_on_host(ids, dout.data<T>(), dtable);
    }
    const Tensor rows = to_device(ids);
    const EmbeddingColumns<T> body{rows.data<std::int32_t>(),
                                   dout.data<T>(),
                                   dtable.data<Compute<T>>(),
                                   rows.numel(),
                                   dtable.size(0),
                                   dtable.size(1)};
    launch_device(*device, "sherd::embedding_backward", body, kEmbeddingParts * dtable.size(1));
  });
}

}  // namespace sherd::kernel
