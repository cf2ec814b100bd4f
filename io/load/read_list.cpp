// Which rank of a node reads what, so that each byte is read once a node.
#include "io/load/read_list.hpp"

#include <algorithm>

namespace sherd::io {
namespace {

using dtensor::FlatRange;

std::vector<std::int64_t> edges_of(const TensorLayout& tensor) {
  std::vector<std::int64_t> edges;
  for (const FlatRange& range : tensor.held) {
    if (range.numel > 0) {
      edges.push_back(range.first);
      edges.push_back(range.end());
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

/// The plan of one tensor after the other.
class Planner {
 public:
  Planner(std::span<const LoadItem> items, std::span<const int> node_ranks, int rank)
      : items_(items), node_ranks_(node_ranks), rank_(rank) {}

  ReadPlan run() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const PieceCutter cutter(items_[i]);
      for (const PieceRecord& piece : items_[i].record->pieces) {
        add(i, cutter, piece);
      }
    }
    return std::move(plan_);
  }

 private:
  void add(std::size_t item, const PieceCutter& cutter, const PieceRecord& piece) {
    const std::vector<int> wanted_by = takers(item, piece, {0, piece.numel}, node_ranks_);
    std::size_t number = 0;
    for (const FlatRange& part : cutter.cut(piece)) {
      const std::size_t digest = piece.block ? number++ : plan_.digests++;
      const std::vector<int> ranks = takers(item, piece, part, wanted_by);
      if (ranks.size() > 1) {
        plan_.shared.push_back({item, &piece, part, digest});
      } else if (!ranks.empty() && ranks.front() == rank_) {
        plan_.own.push_back({item, &piece, part, digest});
      }
    }
  }

  /// Those of `ranks` that hold any of it.
  std::vector<int> takers(std::size_t item, const PieceRecord& piece, FlatRange part,
                          std::span<const int> ranks) const {
    std::vector<int> found;
    for (const int rank : ranks) {
      if (share_elements(items_[item].record->shape.extents(), region_of(piece), part,
                         region_of(*items_[item].layout, rank))) {
        found.push_back(rank);
      }
    }
    return found;
  }

  std::span<const LoadItem> items_;
  std::span<const int> node_ranks_;
  int rank_;
  ReadPlan plan_;
};

}  // namespace

Region region_of(const PieceRecord& piece) { return {{piece.first, piece.numel}, piece.block}; }

Region region_of(const TensorLayout& tensor, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return tensor.blocks.empty() ? Region{tensor.held[r]} : Region{tensor.held[r], tensor.blocks[r]};
}

PieceCutter::PieceCutter(const LoadItem& item) {
  const bool in_blocks = !item.layout->blocks.empty() ||
                         (!item.record->pieces.empty() && item.record->pieces.front().block);
  if (!in_blocks) {
    edges_ = edges_of(*item.layout);
  }
  // A sharded tensor's ranges have one reader each: they need not be cut further.
  if (in_blocks || item.layout->facts.placement != dtensor::Placement::sharded) {
    grid_ = static_cast<std::int64_t>(kDigestBytes / size_of(item.record->dtype));
  }
}

std::vector<FlatRange> PieceCutter::cut(const PieceRecord& piece) const {
  std::vector<FlatRange> parts;
  auto edge = std::upper_bound(edges_.begin(), edges_.end(), piece.first);
  for (std::int64_t at = 0; at < piece.numel;) {
    std::int64_t end = piece.numel;
    if (edge != edges_.end()) {
      end = std::min(end, *edge - piece.first);
    }
    if (grid_ > 0) {
      end = std::min(end, at + grid_);
    }
    if (edge != edges_.end() && end == *edge - piece.first) {
      ++edge;
    }
    parts.push_back({at, end - at});
    at = end;
  }
  return parts;
}

ReadPlan plan_reads(std::span<const LoadItem> items, std::span<const int> node_ranks, int rank) {
  return Planner(items, node_ranks, rank).run();
}

}  // namespace sherd::io
