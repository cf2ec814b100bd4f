#include "comm/shared/shared_communicator.hpp"

#include <exception>
#include <utility>

#include "comm/shared/chunks.hpp"
#include "comm/shared/team_epoch_board.hpp"

namespace sherd::comm {

SharedCommunicator::SharedCommunicator(std::shared_ptr<SharedTeam> team)
    : exceptions_(std::uncaught_exceptions()),
      team_(std::move(team)),
      steps_(team_),
      registry_(std::make_shared<RegionRegistry>()) {}

SharedCommunicator::~SharedCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) {
    give_up(*team_);  // the others must not wait for a rank that is on its way out
  }
}

Operation SharedCommunicator::located(Operation operation, const void* data,
                                      std::size_t bytes) const {
  if (const auto place = registry_->find(data, bytes)) {
    operation.region = place->region;
    operation.offset = place->offset;
  }
  return operation;
}

bool SharedCommunicator::announce(const Operation& operation) {
  steps_.open();
  steps_.publish(operation);
  steps_.await(operation);
  for (int peer = 0; peer < size(); ++peer) {
    if (steps_.published_by(peer).region < 0) {
      return false;
    }
  }
  return true;
}

void SharedCommunicator::finish_in_place(const Operation& operation) {
  steps_.close();
  steps_.drain(operation);
}

bool SharedCommunicator::is_one_buffer() const {
  const Operation& mine = steps_.published_by(rank());
  for (int peer = 0; peer < size(); ++peer) {
    const Operation& theirs = steps_.published_by(peer);
    if (theirs.region < 0 || theirs.region != mine.region || theirs.offset != mine.offset) {
      return false;
    }
  }
  return true;
}

const std::byte* SharedCommunicator::buffer_of(int peer) const {
  const Operation& theirs = steps_.published_by(peer);
  return registry_->address({theirs.region, theirs.offset});
}

Capabilities SharedCommunicator::capabilities() noexcept {
  return {.blocking = true, .mpi = team_->mpi(), .team = team_.get()};
}

Work SharedCommunicator::start(const Collective& collective) {
  switch (collective.kind) {
    case CollectiveKind::all_gather:
      start_all_gather(collective);
      break;
    case CollectiveKind::reduce_scatter:
      start_reduce_scatter(collective);
      break;
    case CollectiveKind::all_reduce:
      start_all_reduce(collective);
      break;
    case CollectiveKind::broadcast:
      start_broadcast(collective);
      break;
    case CollectiveKind::barrier:
      meet();
      break;
    case CollectiveKind::none:
      break;
  }
  return {};
}

void SharedCommunicator::start_all_gather(const Collective& c) {
  const std::size_t bytes = c.bytes();
  const std::size_t whole = bytes * static_cast<std::size_t>(size());
  const auto* from = static_cast<const std::byte*>(c.in);
  auto* to = static_cast<std::byte*>(c.out);
  const Operation operation =
      located({OperationKind::all_gather, c.dtype, ReduceOp::sum, 0, c.count}, to, whole);
  if (bytes <= kSmallBytes || operation.region >= 0) {
    copy_bytes(to + bytes * static_cast<std::size_t>(rank()), from, bytes);
  }
  if (bytes > kSmallBytes) {
    if (announce(operation)) {
      gather_in_place(to, bytes);
      finish_in_place(operation);
      return;
    }
    steps_.close();
  }
  gather_staged(from, to, bytes, operation);
}

/// Every rank has put its piece into its own `full`. If that is one and the same memory, done.
void SharedCommunicator::gather_in_place(std::byte* full, std::size_t bytes) {
  if (is_one_buffer()) {
    return;
  }
  for (int i = 1; i < size(); ++i) {
    const int peer = (rank() + i) % size();
    const std::size_t at = bytes * static_cast<std::size_t>(peer);
    copy_bytes(full + at, buffer_of(peer) + at, bytes);
  }
}

/// Chunk by chunk: a rank stages its own, puts it in its place while the others do the same, and
/// takes theirs.
void SharedCommunicator::gather_staged(const std::byte* shard, std::byte* full, std::size_t bytes,
                                       const Operation& operation) {
  const Destination destination = destination_of(bytes * static_cast<std::size_t>(size()));
  const bool placed = full + bytes * static_cast<std::size_t>(rank()) == shard ||
                      bytes <= kSmallBytes || operation.region >= 0;
  std::size_t begin = 0;
  do {
    const std::size_t n = std::min(steps_.capacity(), bytes - begin);
    const auto place = [&](int r) { return full + bytes * static_cast<std::size_t>(r) + begin; };
    std::byte* staged = steps_.open();
    stage(staged, shard + begin, n);
    steps_.publish(operation);
    if (!placed) {
      copy_out(place(rank()), shard + begin, n, destination);
    }
    steps_.await(operation);
    const int peers = is_one_buffer() ? 0 : size();  // one buffer is complete already
    for (int i = 1; i < peers; ++i) {
      const int peer = (rank() + i) % size();
      copy_out(place(peer), steps_.staged_by(peer), n, destination);
    }
    steps_.close();
    begin += n;
  } while (begin < bytes);
}

void SharedCommunicator::start_broadcast(const Collective& c) {
  const int root = c.root;
  const Operation operation{OperationKind::broadcast, c.dtype, ReduceOp::sum, root, c.count};
  const std::size_t bytes = c.bytes();
  auto* memory = static_cast<std::byte*>(c.out);
  std::size_t begin = 0;
  do {
    const std::size_t n = std::min(steps_.capacity(), bytes - begin);
    std::byte* staged = steps_.open();
    if (rank() == root) {
      stage(staged, memory + begin, n);
    }
    steps_.publish(operation);
    steps_.await(operation);
    if (rank() != root) {
      copy_bytes(memory + begin, steps_.staged_by(root), n);
    }
    steps_.close();
    begin += n;
  } while (begin < bytes);
}

void SharedCommunicator::meet() {
  const Operation operation{OperationKind::barrier};
  steps_.open();
  steps_.publish(operation);
  steps_.await(operation);
  steps_.close();
}

std::unique_ptr<SharedRegion> SharedCommunicator::allocate_shared(std::size_t bytes) {
  return RegionRegistry::enrol(registry_, team_->allocate(bytes));
}

std::unique_ptr<EpochBoard> SharedCommunicator::make_epoch_board(std::size_t slots) {
  return std::make_unique<TeamEpochBoard>(team_, slots);
}

std::unique_ptr<Communicator> SharedCommunicator::duplicate() {
  return std::make_unique<SharedCommunicator>(team_->duplicate());
}

}  // namespace sherd::comm
