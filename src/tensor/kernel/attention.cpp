#include "sherd/tensor/kernel/attention.hpp"

#include <cmath>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/attention_whole.hpp"
#include "tensor/kernel/body/attention_rows.hpp"
#include "tensor/kernel/launch.hpp"
#include "tensor/kernel/product.hpp"

namespace sherd::kernel {
namespace {

AttentionShape require_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const Tensor& out, const Tensor& lse) {
  require_memory({&q, &k}, "attention");
  expect(q.shape().rank() == 4 && k.shape().rank() == 4,
         "attention: q, k and v must be [batch, heads, seq, head_dim]");
  const AttentionShape shape{q.size(0), q.size(1), k.size(1), q.size(2), q.size(3)};
  expect(shape.kv_heads > 0 ? shape.heads % shape.kv_heads == 0 : shape.heads == 0,
         "attention: the number of heads must be a multiple of the number of kv heads");
  const Shape kv{shape.batch, shape.kv_heads, shape.seq, shape.head_dim};
  require_like(k, kv, q.dtype(), "attention: k");
  require_like(v, kv, q.dtype(), "attention: v");
  require_like(out, Shape{shape.batch * shape.seq, shape.heads * shape.head_dim}, q.dtype(),
               "attention: out");
  require_like(lse, Shape{shape.batch, shape.heads, shape.seq}, compute_dtype(q.dtype()),
               "attention: lse");
  return shape;
}

/// bf16 products where the CPU has them.
DType operand_dtype(const runtime::Device* device) {
  return is_native_at(device, DType::bf16, DType::f32) ? DType::bf16 : DType::f32;
}

bool is_gpu(runtime::Device* device) {
  return device != nullptr && device->counting() == nullptr &&
         runtime::as_emulated(device->compute_stream()) == nullptr;
}

double score_scale(const AttentionShape& shape) {
  return shape.head_dim > 0 ? 1.0 / std::sqrt(static_cast<double>(shape.head_dim)) : 1.0;
}

/// f64, and what has no elements to multiply, runs row by row on the host too.
template <class T>
bool runs_blocked(const AttentionShape& shape, runtime::Device* device, Path path) {
  return !std::is_same_v<T, double> && (device != nullptr || path != Path::kokkos) &&
         shape.head_dim > 0 && shape.batch * shape.heads * shape.seq > 0;
}

template <class T>
void forward(const AttentionForwardRows<T>& rows, runtime::Device* device, Path path) {
  if (runs_blocked<T>(rows.shape, device, path)) {
    if constexpr (!std::is_same_v<T, double>) {
      if (is_gpu(device)) {
        return attention_forward_whole(rows, device);
      }
    }
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Float16>) {
      return attention_forward_blocked(rows, device);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return attention_forward_blocked(rows, operand_dtype(device), device);
    }
  }
  launch("sherd::attention_forward", rows, rows.shape.batch * rows.shape.heads * rows.shape.seq,
         device, path);
}

template <class T>
void backward(const AttentionBackwardArguments<T>& a, runtime::Device* device, Path path) {
  const AttentionShape& shape = a.in.shape;
  if (runs_blocked<T>(shape, device, path)) {
    if constexpr (!std::is_same_v<T, double>) {
      if (is_gpu(device)) {
        return attention_backward_whole(a, device);
      }
    }
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Float16>) {
      return attention_backward_blocked(a, device);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return attention_backward_blocked(a, operand_dtype(device), device);
    }
  }
  launch("sherd::attention_backward_query", AttentionBackwardQuery<T>{a.in, a.dq},
         shape.batch * shape.heads * shape.seq, device, path);
  launch("sherd::attention_backward_key_value", AttentionBackwardKeyValue<T>{a.in, a.dk, a.dv},
         shape.batch * shape.kv_heads * shape.seq, device, path);
}

}  // namespace

void attention_forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                       const Tensor& lse, Path path) {
  const AttentionShape shape = require_attention(q, k, v, out, lse);
  runtime::Device* device = device_of({&q, &k, &v, &out, &lse}, "attention_forward");
  visit_dtype(q.dtype(), "attention_forward", [&]<class T>(T) {
    using A = Compute<T>;
    forward(AttentionForwardRows<T>{shape, static_cast<A>(score_scale(shape)), q.data<T>(),
                                    k.data<T>(), v.data<T>(), out.data<T>(), lse.data<A>()},
            device, path);
  });
}

void attention_backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                        const Tensor& lse, const Tensor& dout, const Tensor& dq, const Tensor& dk,
                        const Tensor& dv, Path path) {
  const AttentionShape shape = require_attention(q, k, v, out, lse);
  require_like(dout, out.shape(), q.dtype(), "attention_backward: dout");
  require_like(dq, q.shape(), q.dtype(), "attention_backward: dq");
  require_like(dk, k.shape(), q.dtype(), "attention_backward: dk");
  require_like(dv, v.shape(), q.dtype(), "attention_backward: dv");
  runtime::Device* device =
      device_of({&q, &k, &v, &out, &lse, &dout, &dq, &dk, &dv}, "attention_backward");
  visit_dtype(q.dtype(), "attention_backward", [&]<class T>(T) {
    using A = Compute<T>;
    const AttentionGradients<T> in{shape,         static_cast<A>(score_scale(shape)),
                                   q.data<T>(),   k.data<T>(),
                                   v.data<T>(),   out.data<T>(),
                                   lse.data<A>(), dout.data<T>()};
    backward(AttentionBackwardArguments<T>{in, dq.data<T>(), dk.data<T>(), dv.data<T>()}, device,
             path);
  });
}

}  // namespace sherd::kernel
