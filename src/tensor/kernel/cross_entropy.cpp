#include "tensor/kernel/body/cross_entropy.hpp"

#include <fmt/format.h>

#include "sherd/tensor/kernel/embedding.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

void require_loss(const Tensor& logits, const Tensor& targets, const Tensor& lse) {
  require_memory({&logits}, "cross_entropy");
  expect(logits.shape().rank() == 2, "cross_entropy: logits must be [rows, classes]");
  const Shape rows{logits.size(0)};
  require_like(targets, rows, DType::i32, "cross_entropy: targets");
  require_like(lse, rows, compute_dtype(logits.dtype()), "cross_entropy: lse");
  expect(logits.size(0) == 0 || logits.size(1) > 0, "cross_entropy: there are no classes");
  if (targets.is_on_device()) {
    return;
  }
  for (const std::int32_t target : targets.span<std::int32_t>()) {
    if (target >= logits.size(1)) {
      throw ArgumentError(fmt::format(
          "cross_entropy: target {} (there are {} classes). Try: a tokenizer that fits the model",
          target, logits.size(1)));
    }
  }
}

}  // namespace

Tensor cross_entropy_losses(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                            Path path) {
  require_loss(logits, targets, lse);
  runtime::Device* device = device_of({&logits, &lse}, "cross_entropy_forward");
  const Tensor classes = device != nullptr ? to_device(targets) : targets;
  const Tensor losses = Tensor::empty(Shape{logits.size(0)}, DType::f64, logits.where());
  visit_dtype(logits.dtype(), "cross_entropy_forward", [&]<class T>(T) {
    const CrossEntropyForward<T> body{logits.data<T>(), classes.data<std::int32_t>(),
                                      lse.data<Compute<T>>(), losses.data<double>(),
                                      logits.size(1)};
    launch("sherd::cross_entropy_forward", body, logits.size(0), device, path);
  });
  return losses;
}

double cross_entropy_forward(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                             Path path) {
  double sum = 0;
  const Tensor read = to_host(cross_entropy_losses(logits, targets, lse, path));
  for (const double loss : read.span<double>()) {
    sum += loss;
  }
  return sum;
}

void cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                            double scale, const Tensor& dlogits, Path path) {
  require_loss(logits, targets, lse);
  require_like(dlogits, logits.shape(), logits.dtype(), "cross_entropy_backward: dlogits");
  runtime::Device* device = device_of({&logits, &lse, &dlogits}, "cross_entropy_backward");
  const Tensor classes = device != nullptr ? to_device(targets) : targets;
  visit_dtype(logits.dtype(), "cross_entropy_backward", [&]<class T>(T) {
    using A = Compute<T>;
    const CrossEntropyBackward<T> body{logits.data<T>(), classes.data<std::int32_t>(),
                                       lse.data<A>(),    dlogits.data<T>(),
                                       logits.size(1),   static_cast<A>(scale)};
    launch("sherd::cross_entropy_backward", body, logits.size(0), device, path);
  });
}

}  // namespace sherd::kernel
