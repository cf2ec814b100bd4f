#pragma once

#include <cstdint>
#include <vector>

namespace sherd::mesh {

struct MeshCoord {
  int node = 0;
  int local = 0;
  friend bool operator==(const MeshCoord&, const MeshCoord&) = default;
};

/// The ranks as a grid of `nodes` x `local` (R x G), W = R*G. Pure arithmetic; knows no MPI.
///
/// Pieces of a sharded buffer are numbered *local-major*: rank (n, l) owns piece l*R + n, so the R
/// pieces of one local index lie side by side (gathering across nodes is in place) and the G blocks
/// of R pieces make the whole (gathering inside a node is in place too).
class DeviceMesh {
 public:
  /// A mesh of `nodes` x `local_size` whose ranks are numbered node by node. Throws ArgumentError
  /// unless both are positive.
  DeviceMesh(int nodes, int local_size);
  /// A mesh from each rank's node: `node_of_rank[r]`, nodes numbered from 0. Throws ConfigError
  /// when the nodes hold different numbers of ranks (the message says which and what to ask for
  /// instead).
  explicit DeviceMesh(std::vector<int> node_of_rank);

  [[nodiscard]] int size() const noexcept { return nodes_ * local_size_; }
  [[nodiscard]] int nodes() const noexcept { return nodes_; }
  [[nodiscard]] int local_size() const noexcept { return local_size_; }

  [[nodiscard]] MeshCoord coord(int rank) const;
  [[nodiscard]] int rank(MeshCoord coord) const;
  /// Piece index a rank owns: local * nodes + node.
  [[nodiscard]] int piece(int rank) const;
  /// Rank that owns a piece; the inverse of piece().
  [[nodiscard]] int owner(int piece) const;

 private:
  int nodes_;
  int local_size_;
  std::vector<MeshCoord> coords_;  // by rank
  std::vector<int> owners_;        // by piece
};

}  // namespace sherd::mesh
