// A flat range of a row-major array as boxes, which is all that HDF5 selections know.
#include "io/layout/hyperslab.hpp"

namespace sherd::io {
namespace {

class Decomposition {
 public:
  explicit Decomposition(std::span<const std::int64_t> extents) : extents_(extents) {
    prefix_.start.assign(extents.size(), 0);
    prefix_.count.assign(extents.size(), 1);
  }

  /// Adds the boxes of `range`, which counts elements below dimension `dim` under the current
  /// prefix.
  void add(std::size_t dim, dtensor::FlatRange range) {
    const std::int64_t row = elements_below(dim);
    std::int64_t at = range.first;
    while (at < range.end()) {
      const std::int64_t index = at / row;
      const std::int64_t within = at % row;
      if (within == 0 && range.end() - at >= row) {
        const std::int64_t rows = (range.end() - at) / row;
        add_rows(dim, index, rows);
        at += rows * row;
      } else {
        const dtensor::FlatRange part = dtensor::intersect(range, {index * row, row});
        prefix_.start[dim] = index;
        add(dim + 1, {within, part.numel});
        at = part.end();
      }
    }
    prefix_.start[dim] = 0;
  }

  std::vector<Box> take() { return std::move(boxes_); }

 private:
  std::int64_t elements_below(std::size_t dim) const {
    std::int64_t product = 1;
    for (std::size_t d = dim + 1; d < extents_.size(); ++d) {
      product *= extents_[d];
    }
    return product;
  }

  void add_rows(std::size_t dim, std::int64_t first, std::int64_t rows) {
    Box box = prefix_;
    box.start[dim] = first;
    box.count[dim] = rows;
    for (std::size_t d = dim + 1; d < extents_.size(); ++d) {
      box.start[d] = 0;
      box.count[d] = extents_[d];
    }
    boxes_.push_back(std::move(box));
  }

  std::span<const std::int64_t> extents_;
  Box prefix_;
  std::vector<Box> boxes_;
};

}  // namespace

std::vector<Box> boxes_of(std::span<const std::int64_t> extents, dtensor::FlatRange range) {
  if (range.numel == 0) {
    return {};
  }
  Decomposition decomposition(extents);
  decomposition.add(0, range);
  return decomposition.take();
}

}  // namespace sherd::io
