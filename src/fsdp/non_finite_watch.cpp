// Where the first NaN or infinity of a step was met.
#include "fsdp/non_finite_watch.hpp"

#include "sherd/tensor/kernel/optimizer.hpp"

namespace sherd::fsdp {

void NonFiniteWatch::found_in_sum(std::span<const Tensor> sources, const Tensor& sum,
                                  std::size_t buffer, std::int64_t begin) {
  if (first_) {
    return;
  }
  for (std::size_t i = 0; i < sources.size() && i < ranks_.size(); ++i) {
    look(sources[i], ranks_[i], buffer, begin);
    if (first_) {
      return;
    }
  }
  look(sum, -1, buffer, begin);
}

void NonFiniteWatch::look(const Tensor& gradient, int rank, std::size_t buffer,
                          std::int64_t begin) {
  if (first_) {
    return;
  }
  looked_.push_back({kernel::begin_first_nonfinite(gradient),
                     {micro_batch_, rank, static_cast<std::int64_t>(buffer), begin}});
  if (!gradient.is_on_device()) {
    settle();
  }
}

void NonFiniteWatch::settle() {
  for (const Look& look : looked_) {
    const std::int64_t at = first_ ? -1 : look.index.read();
    if (at >= 0) {
      first_ = look.place;
      first_->element += at;
    }
  }
  looked_.clear();
}

}  // namespace sherd::fsdp
