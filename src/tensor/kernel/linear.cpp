#include "tensor/kernel/body/linear.hpp"

#include "sherd/tensor/kernel/elementwise.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {

void add(const Tensor& a, const Tensor& b, const Tensor& out, Path path) {
  require_memory({&a}, "add");
  require_like(b, a.shape(), a.dtype(), "add: b");
  require_like(out, a.shape(), a.dtype(), "add: out");
  runtime::Device* device = device_of({&a, &b, &out}, "add");
  visit_dtype(a.dtype(), "add", [&]<class T>(T) {
    launch("sherd::add", Add<T>{a.data<T>(), b.data<T>(), out.data<T>()}, a.numel(), device, path);
  });
}

void scale_into(double alpha, const Tensor& x, const Tensor& y, Write write) {
  require_memory({&x, &y}, "scale_into");
  expect(x.numel() == y.numel(), "scale_into: x and y must have as many elements");
  runtime::Device* device = device_of({&x, &y}, "scale_into");
  visit_dtype(x.dtype(), "scale_into", [&]<class X>(X) {
    visit_dtype(y.dtype(), "scale_into", [&]<class Y>(Y) {
      using A = typename ScaleInto<X, Y>::A;
      const ScaleInto<X, Y> body{x.data<X>(), y.data<Y>(), static_cast<A>(alpha),
                                 write == Write::accumulate};
      launch_at(device, "sherd::scale_into", body, x.numel());
    });
  });
}

void add_bias(const Tensor& x, const Tensor& bias, const Tensor& y) {
  require_memory({&x}, "add_bias");
  expect(x.shape().rank() > 0, "add_bias to a tensor of rank 0 (it has no last dimension)");
  require_like(bias, Shape{x.size(-1)}, x.dtype(), "add_bias: bias");
  require_like(y, x.shape(), x.dtype(), "add_bias: y");
  runtime::Device* device = device_of({&x, &bias, &y}, "add_bias");
  visit_dtype(x.dtype(), "add_bias", [&]<class T>(T) {
    const AddBias<T> body{x.data<T>(), bias.data<T>(), y.data<T>(), x.size(-1)};
    launch_at(device, "sherd::add_bias", body, x.shape().rows());
  });
}

void sum_rows(const Tensor& dy, const Tensor& dbias, Write write) {
  require_memory({&dy}, "sum_rows");
  expect(dy.shape().rank() > 0, "sum_rows of a tensor of rank 0 (it has no last dimension)");
  require_like(dbias, Shape{dy.size(-1)}, compute_dtype(dy.dtype()), "sum_rows: dbias");
  runtime::Device* device = device_of({&dy, &dbias}, "sum_rows");
  if (write == Write::overwrite) {
    dbias.fill_zero();
  }
  visit_dtype(dy.dtype(), "sum_rows", [&]<class T>(T) {
    const SumRows<T> body{dy.data<T>(), dbias.data<Compute<T>>(), dy.shape().rows(), dy.size(-1)};
    launch_at(device, "sherd::sum_rows", body, dy.size(-1));
  });
}

}  // namespace sherd::kernel
