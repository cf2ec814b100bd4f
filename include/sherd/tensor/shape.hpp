#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace sherd {

/// Extents of a row-major tensor, outermost first. Rank 0 (one element) and zero extents are legal.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  [[nodiscard]] std::size_t rank() const noexcept { return extents_.size(); }
  /// Extent of dimension `dim`; negative counts from the end. Throws ArgumentError.
  [[nodiscard]] std::int64_t operator[](int dim) const;
  [[nodiscard]] const std::vector<std::int64_t>& extents() const noexcept { return extents_; }
  [[nodiscard]] std::int64_t numel() const noexcept;
  /// numel() of all dimensions but the last: how many rows the tensor has. 1 for rank 0.
  [[nodiscard]] std::int64_t rows() const noexcept;
  /// "[2, 3]"
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> extents_;
};

}  // namespace sherd
