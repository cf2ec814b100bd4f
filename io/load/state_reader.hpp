#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/load/chunk_reader.hpp"
#include "io/load/part_digests.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/mesh/device_mesh.hpp"

namespace sherd::io {

/// Reads what a rank of a node reads of a checkpoint straight into the state's tensors. What only
/// one rank of the node wants it reads for itself; what several want they read in turns, each part
/// once, and hand to each other. Memory: a few chunks.
class StateReader {
 public:
  /// What is passed by reference must outlive this. Without `verify` no digests are taken.
  StateReader(const CheckpointFiles& files, std::span<const LoadItem> items, ReadPlan plan,
              const mesh::DeviceMesh& mesh, int rank, bool verify);

  /// Local. Throws DamagedError, IoError.
  void read_own();
  /// Local: begins to read ahead what others on the node want too.
  void begin_shared();
  /// Collective over the ranks of the node, each after its begin_shared(). What goes wrong with the
  /// files is kept for finish().
  void read_shared(comm::Communicator& node);
  /// Local. Hands digests to the table. Throws DamagedError, IoError.
  void finish(DigestTable& table, const Manifest& manifest) const;

  /// What this rank read.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  [[nodiscard]] int reader_of(std::size_t chunk) const {
    return static_cast<int>(chunk % static_cast<std::size_t>(mesh_.local_size()));
  }
  void hand_out(comm::Communicator& node, std::size_t chunk);
  void keep(const std::exception_ptr& error);

  const CheckpointFiles& files_;
  std::span<const LoadItem> items_;
  const mesh::DeviceMesh& mesh_;
  int rank_;
  bool verify_;
  ReadList own_;
  ReadList shared_;
  ChunkDigests own_digests_;
  ChunkDigests shared_digests_;
  std::vector<std::size_t> shared_order_;
  std::unique_ptr<ChunkStream> ahead_;
  std::optional<PageBuffer> received_;
  std::exception_ptr error_;
};

}  // namespace sherd::io
