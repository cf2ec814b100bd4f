// One rank's reading: its own fragments, then its share of those that others want, too.
#include "io/load/state_reader.hpp"

#include <utility>

#include "io/load/deposit.hpp"

namespace sherd::io {

StateReader::StateReader(const CheckpointFiles& files, std::span<const LoadItem> items,
                         ReadPlan plan, const mesh::DeviceMesh& mesh, int rank, bool verify)
    : files_(files),
      items_(items),
      mesh_(mesh),
      rank_(rank),
      verify_(verify),
      own_(pack_chunks(std::move(plan.own), items)),
      shared_(pack_chunks(std::move(plan.shared), items)),
      own_digests_(own_, items),
      shared_digests_(shared_, items),
      shared_order_(staggered(shared_.chunks.size(), mesh.coord(rank).node, mesh.nodes())) {}

void StateReader::read_own() {
  read_chunks(files_, own_.chunks, staggered(own_.chunks.size(), rank_, mesh_.size()),
              [this](std::size_t chunk, std::span<const std::byte> bytes) {
                if (verify_) {
                  own_digests_.take(chunk, bytes);
                }
                deposit(own_, own_.chunks[chunk], bytes, items_, rank_);
              });
}

void StateReader::begin_shared() {
  std::vector<std::size_t> mine;
  for (const std::size_t chunk : shared_order_) {
    if (reader_of(chunk) == mesh_.coord(rank_).local) {
      mine.push_back(chunk);
    }
  }
  received_.emplace(shared_.chunks.empty() ? 0 : kReadBytes);
  ahead_ =
      std::make_unique<ChunkStream>(files_, shared_.chunks, std::move(mine),
                                    [this](std::size_t chunk, std::span<const std::byte> bytes) {
                                      if (verify_) {
                                        shared_digests_.take(chunk, bytes);
                                      }
                                    });
}

void StateReader::read_shared(comm::Communicator& node) {
  for (const std::size_t chunk : shared_order_) {
    hand_out(node, chunk);
  }
  ahead_.reset();
  received_.reset();
}

void StateReader::hand_out(comm::Communicator& node, std::size_t chunk) {
  std::span<std::byte> bytes(received_->data(), shared_.chunks[chunk].bytes);
  const int reader = reader_of(chunk);
  if (reader == node.rank()) {
    const ChunkStream::Result read = ahead_->next();
    bytes = read.bytes;
    keep(read.error);  // the others wait for these bytes, whatever they are
  }
  node.broadcast(bytes.data(), bytes.size(), DType::u8, reader).wait();
  try {
    deposit(shared_, shared_.chunks[chunk], bytes, items_, rank_);
  } catch (...) {
    keep(std::current_exception());
  }
}

void StateReader::keep(const std::exception_ptr& error) {
  if (error && !error_) {
    error_ = error;
  }
}

void StateReader::finish(DigestTable& table, const Manifest& manifest) const {
  if (error_) {
    std::rethrow_exception(error_);
  }
  if (verify_) {
    own_digests_.finish(table, manifest);
    shared_digests_.finish(table, manifest);
  }
}

std::uint64_t StateReader::bytes() const {
  std::uint64_t total = 0;
  for (const ReadSlice& slice : own_.slices) {
    total += slice.bytes;
  }
  for (std::size_t i = 0; i < shared_.chunks.size(); ++i) {
    for (const ReadSlice& slice : shared_.slices_of(shared_.chunks[i])) {
      total += reader_of(i) == mesh_.coord(rank_).local ? slice.bytes : 0;
    }
  }
  return total;
}

}  // namespace sherd::io
