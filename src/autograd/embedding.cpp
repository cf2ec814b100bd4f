#include "sherd/tensor/kernel/embedding.hpp"

#include "autograd/destination.hpp"
#include "autograd/grad_slot.hpp"
#include "autograd/rows.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

/// Input: the table; saved: the ids.
void embedding_grad(BackwardContext& context, const Shape& table) {
  const Tensor dy = as_rows(context.grad_output(0));
  const Destination dtable(context, 0, table, leaf_grad_dtype(dy.dtype()),
                           Destination::Kernel::can_accumulate);
  kernel::embedding_backward(context.saved(0), dy, dtable.tensor(), dtable.write());
  dtable.finish();
}

}  // namespace

Variable embedding(const Variable& table, const Tensor& ids) {
  expect(table.shape().rank() == 2, "embedding needs a table [rows, dim]");
  expect(ids.defined() && ids.dtype() == DType::i32, "embedding needs i32 ids");
  const Tensor flat = ids.reshape({ids.numel()});
  const Tensor out =
      Tensor::empty({flat.numel(), table.shape()[1]}, table.dtype(), table.data().where());
  kernel::embedding_forward(table.data(), flat, out);
  std::vector<std::int64_t> extents = ids.shape().extents();
  extents.push_back(table.shape()[1]);
  return record_one(
      "embedding", {table}, out.reshape(Shape(std::move(extents))), {flat},
      [shape = table.shape()](BackwardContext& context) { embedding_grad(context, shape); });
}

}  // namespace sherd::autograd
