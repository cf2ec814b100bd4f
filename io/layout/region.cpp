#include "io/layout/region.hpp"

#include "io/layout/hyperslab.hpp"

namespace sherd::io {
namespace {

using dtensor::FlatRange;
using Extents = std::vector<std::int64_t>;

/// A box of the tensor whose elements lie one after the other, row-major, from `at` on.
struct PlacedBox {
  Box box;
  std::int64_t at = 0;
};

/// Elements `part` of a region as boxes, ascending. A 0-d tensor counts as {1}.
std::vector<PlacedBox> placed_boxes(const Extents& extents, const Region& region, FlatRange part) {
  const bool in_block = region.block.has_value() && !region.block->count.empty();
  const Extents& around = in_block ? region.block->count : extents;
  const std::int64_t shift = in_block ? 0 : region.flat.first;
  std::vector<PlacedBox> placed;
  std::int64_t at = part.first;
  for (Box& box : boxes_of(around, {part.first + shift, part.numel})) {
    for (std::size_t d = 0; in_block && d < around.size(); ++d) {
      box.start[d] += region.block->start[d];
    }
    const std::int64_t numel = box.numel();
    placed.push_back({std::move(box), at});
    at += numel;
  }
  return placed;
}

Extents strides_of(const Box& box) {
  Extents strides(box.count.size(), 1);
  for (std::size_t d = strides.size() - 1; d > 0; --d) {
    strides[d - 1] = strides[d] * box.count[d];
  }
  return strides;
}

/// Hands runs on, joined where they continue each other.
class Joined {
 public:
  explicit Joined(const std::function<void(const CopyRun&)>& visit) : visit_(visit) {}
  void add(const CopyRun& run) {
    if (last_.numel > 0 && last_.from + last_.numel == run.from &&
        last_.to + last_.numel == run.to) {
      last_.numel += run.numel;
      return;
    }
    finish();
    last_ = run;
  }
  void finish() const {
    if (last_.numel > 0) {
      visit_(last_);
    }
  }

 private:
  const std::function<void(const CopyRun&)>& visit_;
  CopyRun last_;
};

/// The runs of what two boxes share.
class SharedBox {
 public:
  SharedBox(const PlacedBox& from, const PlacedBox& to, Box shared, Joined& out)
      : shared_(std::move(shared)),
        from_strides_(strides_of(from.box)),
        to_strides_(strides_of(to.box)),
        out_(out) {
    inner_ = shared_.count.size() - 1;
    run_ = shared_.count[inner_];
    while (inner_ > 0 && shared_.count[inner_] == from.box.count[inner_] &&
           shared_.count[inner_] == to.box.count[inner_]) {
      run_ *= shared_.count[--inner_];
    }
    from_ = from.at;
    to_ = to.at;
    for (std::size_t d = 0; d < shared_.count.size(); ++d) {
      from_ += (shared_.start[d] - from.box.start[d]) * from_strides_[d];
      to_ += (shared_.start[d] - to.box.start[d]) * to_strides_[d];
    }
  }

  void walk() const { walk(0, from_, to_); }

 private:
  void walk(std::size_t dim, std::int64_t from, std::int64_t to) const {
    if (dim == inner_) {
      out_.add({from, to, run_});
      return;
    }
    for (std::int64_t i = 0; i < shared_.count[dim]; ++i) {
      walk(dim + 1, from + i * from_strides_[dim], to + i * to_strides_[dim]);
    }
  }

  Box shared_;
  Extents from_strides_;
  Extents to_strides_;
  Joined& out_;
  std::size_t inner_ = 0;  // from this dimension on what is shared is contiguous on both sides
  std::int64_t run_ = 0;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

/// Calls `pair` for each two boxes that share elements, until it returns false.
template <class Pair>
void for_each_pair(std::span<const std::int64_t> extents, const Region& from, FlatRange part,
                   const Region& to, Pair&& pair) {
  const Extents whole = extents.empty() ? Extents{1} : Extents(extents.begin(), extents.end());
  const std::vector<PlacedBox> wanted = placed_boxes(whole, to, {0, to.numel()});
  for (const PlacedBox& source : placed_boxes(whole, from, part)) {
    for (const PlacedBox& target : wanted) {
      Box shared = dtensor::intersect(source.box, target.box);
      if (shared.numel() > 0 && !pair(source, target, std::move(shared))) {
        return;
      }
    }
  }
}

bool both_flat(const Region& a, const Region& b) { return !a.block && !b.block; }

FlatRange shared_range(const Region& from, FlatRange part, const Region& to) {
  return dtensor::intersect({from.flat.first + part.first, part.numel}, to.flat);
}

}  // namespace

void for_each_run(std::span<const std::int64_t> extents, const Region& from, FlatRange part,
                  const Region& to, const std::function<void(const CopyRun&)>& visit) {
  if (both_flat(from, to)) {
    if (const FlatRange shared = shared_range(from, part, to); shared.numel > 0) {
      visit({shared.first - from.flat.first, shared.first - to.flat.first, shared.numel});
    }
    return;
  }
  Joined out(visit);
  for_each_pair(extents, from, part, to,
                [&](const PlacedBox& source, const PlacedBox& target, Box shared) {
                  SharedBox(source, target, std::move(shared), out).walk();
                  return true;
                });
  out.finish();
}

std::vector<CopyRun> copy_runs(std::span<const std::int64_t> extents, const Region& from,
                               FlatRange part, const Region& to) {
  std::vector<CopyRun> runs;
  for_each_run(extents, from, part, to, [&](const CopyRun& run) { runs.push_back(run); });
  return runs;
}

bool share_elements(std::span<const std::int64_t> extents, const Region& from, FlatRange part,
                    const Region& to) {
  if (both_flat(from, to)) {
    return shared_range(from, part, to).numel > 0;
  }
  bool found = false;
  for_each_pair(extents, from, part, to, [&](const PlacedBox&, const PlacedBox&, const Box&) {
    found = true;
    return false;
  });
  return found;
}

}  // namespace sherd::io
