#include "sherd/mesh/device_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sherd/base/check.hpp"

namespace sherd::mesh {
namespace {

std::vector<int> nodes_of_grid(int nodes, int local_size) {
  expect(nodes > 0 && local_size > 0, "a mesh needs at least one node and one rank on it");
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < nodes * local_size; ++rank) {
    node_of_rank.push_back(rank / local_size);
  }
  return node_of_rank;
}

}  // namespace

DeviceMesh::DeviceMesh(int nodes, int local_size) : DeviceMesh(nodes_of_grid(nodes, local_size)) {}

DeviceMesh::DeviceMesh(std::vector<int> node_of_rank) {
  expect(!node_of_rank.empty(), "a mesh needs at least one rank");
  nodes_ = *std::max_element(node_of_rank.begin(), node_of_rank.end()) + 1;
  std::vector<int> count(static_cast<std::size_t>(nodes_), 0);
  for (const int node : node_of_rank) {
    expect(node >= 0, "node numbers count from 0");
    coords_.push_back({node, count[static_cast<std::size_t>(node)]++});
  }
  const auto [fewest, most] = std::minmax_element(count.begin(), count.end());
  validate(*fewest == *most,
           fmt::format("node {} has {} ranks and node {} has {} (a mesh needs equal numbers). Try: "
                       "--ntasks-per-node={} or mpirun --map-by ppr:{}:node",
                       most - count.begin(), *most, fewest - count.begin(), *fewest, *most, *most));
  local_size_ = *most;
  owners_.resize(node_of_rank.size());
  for (int rank = 0; rank < size(); ++rank) {
    owners_[static_cast<std::size_t>(piece(rank))] = rank;
  }
}

MeshCoord DeviceMesh::coord(int rank) const { return coords_.at(static_cast<std::size_t>(rank)); }

int DeviceMesh::rank(MeshCoord coord) const { return owner(coord.local * nodes_ + coord.node); }

int DeviceMesh::piece(int rank) const {
  const MeshCoord at = coord(rank);
  return at.local * nodes_ + at.node;
}

int DeviceMesh::owner(int piece) const { return owners_.at(static_cast<std::size_t>(piece)); }

}  // namespace sherd::mesh
