#include "autograd/destination.hpp"

#include "sherd/tensor/kernel/elementwise.hpp"

namespace sherd::autograd {

Destination::Destination(BackwardContext& context, std::size_t input, const Shape& shape,
                         DType dtype, Kernel kernel) {
  if (context.needs(input)) {
    target_ = context.target(input);
    direct_ = target_.tensor.dtype() == dtype &&
              (kernel == Kernel::can_accumulate || !target_.accumulate);
  }
  if (direct_) {
    tensor_ = target_.tensor.reshape(shape);
    write_ = target_.accumulate ? kernel::Write::accumulate : kernel::Write::overwrite;
  } else {
    const Tensor& near = target_.tensor.defined() ? target_.tensor : context.grad_output(0);
    tensor_ = Tensor::empty(shape, dtype, near.where());
  }
}

void Destination::finish() const {
  if (target_.tensor.defined() && !direct_) {
    kernel::scale_into(1.0, tensor_.reshape(target_.tensor.shape()), target_.tensor,
                       target_.accumulate ? kernel::Write::accumulate : kernel::Write::overwrite);
  }
}

}  // namespace sherd::autograd
