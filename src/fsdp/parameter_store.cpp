#include "fsdp/parameter_store.hpp"

namespace sherd::fsdp {

void ParameterStore::add_private_piece(std::int64_t numel, const MixedPrecisionPolicy& policy) {
  masters_.push_back(Tensor::zeros(Shape{numel}, policy.master_dtype));
  computes_.push_back(policy.param_dtype == policy.master_dtype
                          ? Tensor()
                          : Tensor::zeros(Shape{numel}, policy.param_dtype));
}

std::size_t ParameterStore::total_bytes(const std::vector<Tensor>& tensors) {
  std::size_t sum = 0;
  for (const Tensor& tensor : tensors) {
    sum += tensor.defined() ? tensor.nbytes() : 0;
  }
  return sum;
}

}  // namespace sherd::fsdp
