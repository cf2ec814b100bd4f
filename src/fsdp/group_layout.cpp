// Where each parameter of a group lies in one buffer that is cut into equal pieces.
#include "sherd/fsdp/group_layout.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// One entry as placement sees it: `unit` elements stay together (0: any may part).
struct Block {
  std::int64_t numel;
  std::int64_t unit;
};

Block block_of(const GroupLayout::Entry& entry) {
  const std::int64_t numel = entry.shape.numel();
  if (entry.unit == ShardUnit::element || numel == 0) {
    return {numel, 0};
  }
  const bool one_row = entry.unit == ShardUnit::tensor || entry.shape.rank() < 2;
  return {numel, one_row ? numel : entry.shape[-1]};
}

/// Places blocks one after the other in pieces of `piece` elements.
class Placement {
 public:
  Placement(const std::vector<Block>& blocks, std::int64_t alignment)
      : blocks_(blocks), alignment_(alignment) {}

  /// Where each block starts; nothing if a unit would be cut, or more than `pieces` are needed.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> starts(std::int64_t piece,
                                                                int pieces) const {
    std::vector<std::int64_t> result;
    std::int64_t end = 0;
    for (const Block& block : blocks_) {
      const auto start = place(block, round_up(end, alignment_), piece);
      if (!start || *start + block.numel > piece * pieces) {
        return std::nullopt;
      }
      result.push_back(*start);
      end = *start + block.numel;
    }
    return result;
  }

 private:
  /// The first start from `begin` on that leaves units whole. Starts are aligned; only rows whose
  /// length the alignment does not divide may start elsewhere, and only where no aligned start in
  /// this piece or the next one serves.
  [[nodiscard]] std::optional<std::int64_t> place(const Block& block, std::int64_t begin,
                                                  std::int64_t piece) const {
    if (block.unit == 0) {
      return begin;
    }
    const std::int64_t next = (begin / piece + 1) * piece;
    const std::int64_t whole = alignment_ / std::gcd(alignment_, block.unit) * block.unit;
    const std::int64_t choices[] = {begin,
                                    before(next, begin, whole),
                                    next,
                                    before(next + piece, next, whole),
                                    before(next, begin, block.unit),
                                    before(next + piece, next, block.unit)};
    for (const std::int64_t start : choices) {
      if (leaves_whole(block, start, piece)) {
        return start;
      }
    }
    return std::nullopt;
  }

  /// The first start from `begin` on a multiple of `step` before `boundary`.
  static std::int64_t before(std::int64_t boundary, std::int64_t begin, std::int64_t step) {
    return boundary - (boundary - begin) / step * step;
  }

  static bool leaves_whole(const Block& block, std::int64_t start, std::int64_t piece) {
    const std::int64_t end = start + block.numel;
    const std::int64_t boundary = (start / piece + 1) * piece;
    if (end <= boundary) {
      return true;
    }
    const bool first_whole = (boundary - start) % block.unit == 0;
    return first_whole && (end <= boundary + piece || piece % block.unit == 0);
  }

  const std::vector<Block>& blocks_;
  std::int64_t alignment_;
};

/// What piece sizes are tried as multiples of. Rows that go over more than two pieces need pieces
/// of whole rows, and the smaller the piece the more blocks are that long, the longest first.
std::set<std::int64_t> steps_to_try(std::vector<Block> blocks, std::int64_t alignment,
                                    std::int64_t largest) {
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.numel > b.numel; });
  std::set<std::int64_t> steps{alignment};
  std::int64_t all = alignment;
  const auto fits = [largest](std::int64_t a, std::int64_t b) {
    return a / std::gcd(a, b) <= largest / b;  // lcm(a, b) <= largest, without overflow
  };
  for (const Block& block : blocks) {
    if (block.unit == 0 || block.unit == block.numel || !fits(alignment, block.unit)) {
      continue;
    }
    steps.insert(std::lcm(alignment, block.unit));
    if (fits(all, block.unit)) {
      all = std::lcm(all, block.unit);
      steps.insert(all);
    }
  }
  return steps;
}

/// Looks for the smallest piece size that serves.
class PieceSearch {
 public:
  PieceSearch(const std::vector<Block>& blocks, std::int64_t alignment, int pieces)
      : placement_(blocks, alignment), pieces_(pieces) {}

  /// Between `lowest`, below which none serves, and `best_`, which does. Whether a size serves is
  /// nearly monotonic along the multiples of one step, not quite: halving finds the neighbourhood,
  /// trying all near it and near the lower bound the rest.
  [[nodiscard]] std::int64_t run(const std::set<std::int64_t>& steps, std::int64_t lowest,
                                 std::int64_t all_in_one) {
    best_ = all_in_one;
    for (const std::int64_t step : steps) {
      std::int64_t low = (lowest + step - 1) / step;
      const std::int64_t first = low;
      try_from(first, step);
      for (std::int64_t high = best_ / step; low < high;) {
        const std::int64_t middle = low + (high - low) / 2;
        if (serves(middle * step)) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      try_from(std::max(first, low - kNear / 2), step);
    }
    return best_;
  }

 private:
  static constexpr std::int64_t kNear = 64;

  [[nodiscard]] bool serves(std::int64_t piece) const {
    return placement_.starts(piece, pieces_).has_value();
  }
  void try_from(std::int64_t count, std::int64_t step) {
    const std::int64_t end = std::min(count + kNear, (best_ - 1) / step + 1);
    for (std::int64_t i = count; i < end; ++i) {
      if (serves(i * step)) {
        best_ = i * step;
        return;
      }
    }
  }

  Placement placement_;
  int pieces_;
  std::int64_t best_ = 0;
};

/// A size that holds all in one piece always serves, so there is one.
std::int64_t smallest_piece(const std::vector<Block>& blocks, std::int64_t alignment, int pieces,
                            std::int64_t lowest, std::int64_t all_in_one) {
  for (const Block& block : blocks) {
    lowest = std::max(lowest, round_up(block.unit, alignment));
  }
  return PieceSearch(blocks, alignment, pieces)
      .run(steps_to_try(blocks, alignment, all_in_one), lowest, all_in_one);
}

}  // namespace

GroupLayout::GroupLayout(const std::vector<Entry>& entries, int pieces, std::int64_t alignment)
    : pieces_(pieces) {
  expect(pieces > 0 && alignment > 0, "a group layout needs positive pieces and alignment");
  std::vector<Block> blocks;
  std::int64_t end = 0;
  for (const Entry& entry : entries) {
    blocks.push_back(block_of(entry));
    end = round_up(end, alignment) + blocks.back().numel;
  }
  piece_numel_ = round_up((end + pieces - 1) / pieces, alignment);
  if (std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.unit != 0; })) {
    piece_numel_ =
        smallest_piece(blocks, alignment, pieces, piece_numel_, round_up(end, alignment));
  }
  const auto starts = Placement(blocks, alignment).starts(piece_numel_, pieces);
  expect(starts.has_value(), "group layout: no piece size found (an error in the search)");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    slots_.push_back({entries[i].name, entries[i].shape, blocks[i].numel, (*starts)[i]});
  }
}

std::int64_t GroupLayout::parameter_numel() const noexcept {
  std::int64_t sum = 0;
  for (const ParameterSlot& slot : slots_) {
    sum += slot.numel;
  }
  return sum;
}

std::vector<SlotOverlap> GroupLayout::overlaps(std::int64_t begin, std::int64_t count) const {
  std::vector<SlotOverlap> found;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ParameterSlot& slot = slots_[i];
    const std::int64_t first = std::max(begin, slot.offset);
    const std::int64_t last = std::min(begin + count, slot.offset + slot.numel);
    if (first < last) {
      found.push_back({i, first - slot.offset, first - begin, last - first});
    }
  }
  return found;
}

}  // namespace sherd::fsdp
