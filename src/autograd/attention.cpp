#include "sherd/tensor/kernel/attention.hpp"

#include "autograd/destination.hpp"
#include "autograd/grad_slot.hpp"
#include "autograd/rows.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

/// Inputs q, k, v; saved q, k, v, out, lse.
void attention_grad(BackwardContext& context) {
  const Tensor q = context.saved(0);
  const Tensor k = context.saved(1);
  const Tensor v = context.saved(2);
  constexpr auto kOverwrites = Destination::Kernel::overwrites;
  const Destination dq(context, 0, q.shape(), q.dtype(), kOverwrites);
  const Destination dk(context, 1, k.shape(), k.dtype(), kOverwrites);
  const Destination dv(context, 2, v.shape(), v.dtype(), kOverwrites);
  kernel::attention_backward(q, k, v, context.saved(3), context.saved(4),
                             as_rows(context.grad_output(0)), dq.tensor(), dk.tensor(),
                             dv.tensor());
  dq.finish();
  dk.finish();
  dv.finish();
}

void rope_grad(BackwardContext& context, const Shape& rows, const kernel::RopeTables* tables) {
  const Tensor& dy = context.grad_output(0);
  const Destination dx(context, 0, rows, dy.dtype(), Destination::Kernel::can_accumulate);
  kernel::rope_unpack(dy, tables, dx.tensor(), dx.write());
  dx.finish();
}

}  // namespace

Variable rope(const Variable& x, std::int64_t head_dim, const kernel::RopeTables* tables) {
  expect(x.shape().rank() == 3, "rope needs [batch, seq, heads * head_dim]");
  expect(head_dim > 0 && x.shape()[2] % head_dim == 0,
         "rope: the last dimension is not a whole number of heads");
  const Tensor rows = as_rows(x.data());
  const Tensor y = Tensor::empty({x.shape()[0], x.shape()[2] / head_dim, x.shape()[1], head_dim},
                                 x.dtype(), x.data().where());
  kernel::rope_pack(rows, tables, y);
  return record_one("rope", {x}, y, {}, [shape = rows.shape(), tables](BackwardContext& context) {
    rope_grad(context, shape, tables);
  });
}

Variable attention(const Variable& q, const Variable& k, const Variable& v) {
  expect(q.shape().rank() == 4 && k.shape().rank() == 4 && k.shape() == v.shape(),
         "attention needs packed q, k, v: [batch, heads, seq, head_dim]");
  const std::int64_t batch = q.shape()[0];
  const std::int64_t heads = q.shape()[1];
  const std::int64_t seq = q.shape()[2];
  const std::int64_t width = heads * q.shape()[3];
  const Tensor out = Tensor::empty({batch * seq, width}, q.dtype(), q.data().where());
  const Tensor lse =
      Tensor::empty({batch, heads, seq}, leaf_grad_dtype(q.dtype()), q.data().where());
  kernel::attention_forward(q.data(), k.data(), v.data(), out, lse);
  return record_one("attention", {q, k, v}, out.reshape({batch, seq, width}),
                    {q.data(), k.data(), v.data(), out, lse}, attention_grad);
}

}  // namespace sherd::autograd
