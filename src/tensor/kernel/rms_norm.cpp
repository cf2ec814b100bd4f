#include "tensor/kernel/body/rms_norm.hpp"

#include "sherd/tensor/kernel/norm.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

void require_norm(const Tensor& x, const Tensor& weight, const Tensor& inv_rms) {
  require_memory({&x}, "rms_norm");
  expect(x.shape().rank() > 0, "rms_norm of a tensor of rank 0 (it has no last dimension)");
  require_like(weight, Shape{x.size(-1)}, x.dtype(), "rms_norm: weight");
  require_memory({&inv_rms}, "rms_norm: inv_rms");
  expect(inv_rms.numel() == x.shape().rows() && inv_rms.dtype() == compute_dtype(x.dtype()),
         "rms_norm: inv_rms must hold one f32 (f64 for f64) for each row of x");
}

template <class T>
void backward(const RmsNormBackward<T>& body, std::int64_t rows, runtime::Device* device,
              Path path) {
  // One pass over x and dy for both gradients, where one thread sums the weight's over all rows.
  if (device == nullptr && path != Path::kokkos && runtime::team_threads() == 1) {
    return run_items(body, 0, rows);
  }
  if (body.dx != nullptr) {
    RmsNormBackward<T> input = body;
    input.dweight = nullptr;
    launch("sherd::rms_norm_backward", input, rows, device, path);
  }
  if (body.dweight != nullptr) {
    const RmsNormWeightColumns<T> columns{body.x,       body.inv_rms, body.dy,
                                          body.dweight, rows,         body.dim};
    launch("sherd::rms_norm_backward_weight", columns, body.dim, device, path);
  }
}

}  // namespace

void rms_norm_forward(const Tensor& x, const Tensor& weight, double eps, const Tensor& y,
                      const Tensor& inv_rms, Path path) {
  require_norm(x, weight, inv_rms);
  require_like(y, x.shape(), x.dtype(), "rms_norm_forward: y");
  runtime::Device* device = device_of({&x, &weight, &y, &inv_rms}, "rms_norm_forward");
  visit_dtype(x.dtype(), "rms_norm_forward", [&]<class T>(T) {
    using A = Compute<T>;
    const RmsNormForward<T> body{x.data<T>(),       weight.data<T>(), y.data<T>(),
                                 inv_rms.data<A>(), x.size(-1),       static_cast<A>(eps)};
    launch("sherd::rms_norm_forward", body, x.shape().rows(), device, path);
  });
}

void rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& inv_rms,
                       const Tensor& dy, const Tensor& dx, Write write_dx, const Tensor& dweight,
                       Write write_dweight, Path path) {
  require_norm(x, weight, inv_rms);
  require_like(dy, x.shape(), x.dtype(), "rms_norm_backward: dy");
  runtime::Device* device =
      device_of({&x, &weight, &inv_rms, &dy, &dx, &dweight}, "rms_norm_backward");
  if (dx.defined()) {
    require_like(dx, x.shape(), x.dtype(), "rms_norm_backward: dx");
  }
  if (dweight.defined()) {
    require_like(dweight, weight.shape(), compute_dtype(x.dtype()), "rms_norm_backward: dweight");
    if (write_dweight == Write::overwrite) {
      dweight.fill_zero();
    }
  }
  visit_dtype(x.dtype(), "rms_norm_backward", [&]<class T>(T) {
    using A = Compute<T>;
    const RmsNormBackward<T> body{x.data<T>(),
                                  weight.data<T>(),
                                  inv_rms.data<A>(),
                                  dy.data<T>(),
                                  dx.defined() ? dx.data<T>() : nullptr,
                                  dweight.defined() ? dweight.data<A>() : nullptr,
                                  x.size(-1),
                                  write_dx == Write::accumulate};
    backward(body, x.shape().rows(), device, path);
  });
}

}  // namespace sherd::kernel
