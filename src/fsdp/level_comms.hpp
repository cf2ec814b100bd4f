#pragma once

#include <cstdint>
#include <memory>

#include "fsdp/group.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/flat_range.hpp"
#include "sherd/fsdp/sharding_strategy.hpp"

namespace sherd::fsdp {

/// Where a rank stands in the mesh.
struct Position {
  int node = 0;
  int nodes = 1;
  int local = 0;
  int local_size = 1;

  [[nodiscard]] int ranks() const noexcept { return nodes * local_size; }
  /// Pieces are numbered local-major, so that a node's share of the ranks l is one run.
  [[nodiscard]] int piece() const noexcept { return local * nodes + node; }
};

/// Communicators for one purpose (gathers or reductions), one a level. Collectives on one
/// communicator may run one after the other; with its own a gather never queues behind a reduction.
struct LevelComms {
  std::unique_ptr<comm::Communicator> local;
  std::unique_ptr<comm::Communicator> cross;

  [[nodiscard]] Position position() const {
    return {cross->rank(), cross->size(), local->rank(), local->size()};
  }
};

/// Communicators of the mesh's levels for memory of that kind (of the thread's device). Collective.
[[nodiscard]] inline LevelComms duplicate_levels(const comm::MeshComms& comms, MemoryKind where) {
  if (where == MemoryKind::device) {
    return {comm::make_on_device(*comms.local), comm::make_on_device(*comms.cross)};
  }
  return {comms.local->duplicate(), comms.cross->duplicate()};
}

/// A run of a buffer's elements.
using Range = dtensor::FlatRange;

/// What a rank holds of a buffer that is cut to `level`.
[[nodiscard]] inline Range held(const FlatBuffer& buffer, Level level, const Position& at) {
  const std::int64_t piece = buffer.layout.piece_numel();
  switch (level) {
    case Level::whole:
      return {0, buffer.numel()};
    case Level::node:
      return {at.local * at.nodes * piece, at.nodes * piece};
    case Level::world:
      break;
  }
  return {at.piece() * piece, piece};
}

/// The piece of a buffer that this rank alone answers for, whatever else it holds.
[[nodiscard]] inline Range own_piece(const FlatBuffer& buffer, const Position& at) {
  return held(buffer, Level::world, at);
}

}  // namespace sherd::fsdp
