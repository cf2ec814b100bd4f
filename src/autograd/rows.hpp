#pragma once

#include "sherd/tensor/tensor.hpp"

namespace sherd::autograd {

/// The tensor as a matrix: all dimensions but the last flattened.
[[nodiscard]] inline Tensor as_rows(const Tensor& tensor) {
  return tensor.reshape({tensor.shape().rows(), tensor.size(-1)});
}

/// `shape` with another last extent.
[[nodiscard]] inline Shape with_last(const Shape& shape, std::int64_t last) {
  std::vector<std::int64_t> extents = shape.extents();
  extents.back() = last;
  return Shape(std::move(extents));
}

}  // namespace sherd::autograd
