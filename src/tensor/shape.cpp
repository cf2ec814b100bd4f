#include "sherd/tensor/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sherd/base/error.hpp"

namespace sherd {

std::int64_t Shape::operator[](int dim) const {
  const auto count = static_cast<int>(extents_.size());
  const int index = dim < 0 ? dim + count : dim;
  if (index < 0 || index >= count) {
    throw ArgumentError(fmt::format("dimension {} of a tensor of shape {} (it has {} dimensions)",
                                    dim, to_string(), count));
  }
  return extents_[static_cast<std::size_t>(index)];
}

std::int64_t Shape::numel() const noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents_) {
    product *= extent;
  }
  return product;
}

std::int64_t Shape::rows() const noexcept {
  std::int64_t product = 1;
  for (std::size_t i = 0; i + 1 < extents_.size(); ++i) {
    product *= extents_[i];
  }
  return product;
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(extents_, ", ")); }

}  // namespace sherd
