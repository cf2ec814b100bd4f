#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/format/manifest.hpp"
#include "io/layout/region.hpp"
#include "io/layout/state_layout.hpp"
#include "sherd/tensor/tensor.hpp"

/// Who reads what of a checkpoint: pure arithmetic, the same on all ranks of a node.
namespace sherd::io {

/// A tensor of the state and what it is loaded from.
struct LoadItem {
  const TensorRecord* record = nullptr;
  const TensorLayout* layout = nullptr;
  Tensor memory;  ///< what this rank holds; may be undefined when that is nothing
};

/// A stretch of a stored piece that is read as a whole and has a digest of its own.
struct Fragment {
  std::size_t item = 0;
  const PieceRecord* piece = nullptr;
  dtensor::FlatRange part;  ///< elements, from the piece's beginning
  std::size_t digest = 0;   ///< of a block: in parts_crc32c; else: in the DigestTable
};

struct ReadPlan {
  std::vector<Fragment> own;     ///< of this node's ranks only this one wants them
  std::vector<Fragment> shared;  ///< several do: at most kDigestBytes each
  std::size_t digests = 0;       ///< fragments of flat pieces, counted over all ranks
};

[[nodiscard]] Region region_of(const PieceRecord& piece);
/// What `rank` holds.
[[nodiscard]] Region region_of(const TensorLayout& tensor, int rank);

/// Cuts the stored pieces of one tensor, in the same way on all ranks.
class PieceCutter {
 public:
  explicit PieceCutter(const LoadItem& item);
  /// In ascending order; counted from the piece's beginning.
  [[nodiscard]] std::vector<dtensor::FlatRange> cut(const PieceRecord& piece) const;

 private:
  std::int64_t grid_ = 0;            // elements of a part; 0: as long as they come
  std::vector<std::int64_t> edges_;  // where a rank's range begins or ends
};

/// `node_ranks` are the ranks that share this node, `rank` is one of them.
[[nodiscard]] ReadPlan plan_reads(std::span<const LoadItem> items, std::span<const int> node_ranks,
                                  int rank);

}  // namespace sherd::io
