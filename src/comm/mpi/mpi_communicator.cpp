#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/mpi/mpi_api.hpp"
#include "comm/mpi/mpi_reduce_scatter.hpp"
#include "comm/mpi/mpi_types.hpp"
#include "comm/reduce/reduce.hpp"
#include "comm/shared/chunks.hpp"

namespace sherd::comm::mpi {
namespace {

/// All ranks' contributions to a reduction together, up to which they are gathered whole.
constexpr std::size_t kSmallGather = std::size_t{256} << 10;

/// Everybody sends its piece of `full` to everybody. Sends are posted first: the peer's go-ahead
/// for them and this rank's for the peer's then cross before either has much data in its socket. In
/// the other order (that of MPI_Iallgather) a go-ahead may stand behind all the data of this rank,
/// and the two directions take turns.
void exchange_pieces(const Exchange& exchange, std::byte* full, std::size_t count,
                     MpiWork::Requests& requests) {
  const auto piece_of = [&](int rank) {
    return full + static_cast<std::size_t>(rank) * count * exchange.width();
  };
  for (int i = 1; i < exchange.size(); ++i) {
    const int to = (exchange.rank() + i) % exchange.size();
    exchange.send(piece_of(exchange.rank()), count, to, requests);
  }
  for (int i = 1; i < exchange.size(); ++i) {
    const int from = (exchange.rank() + exchange.size() - i) % exchange.size();
    exchange.receive(piece_of(from), count, from, requests);
  }
}

Work make_work(std::string what, std::vector<MpiWork::Stage> stages, std::size_t lag = 1) {
  if (stages.empty()) {
    return {};
  }
  return Work(std::make_unique<MpiWork>(std::move(what), std::move(stages), lag));
}

}  // namespace

MpiCommunicator::MpiCommunicator(CommHandle comm, std::size_t max_elements)
    : comm_(std::move(comm)),
      max_elements_(max_elements),
      rank_(comm_rank(comm_.get())),
      size_(comm_size(comm_.get())),
      tag_limit_(tag_limit(comm_.get())) {}

/// Operations that are under way together must not take each other's messages: each has its own
/// tag.
Exchange MpiCommunicator::next_exchange(DType dtype) {
  const int tag = next_tag_;
  next_tag_ = next_tag_ == tag_limit_ ? 0 : next_tag_ + 1;
  return {comm_.get(), tag, dtype, max_elements_};
}

Work MpiCommunicator::start(const Collective& collective) {
  switch (collective.kind) {
    case CollectiveKind::all_gather:
      return start_all_gather(collective);
    case CollectiveKind::reduce_scatter:
      return start_reduce_scatter(collective);
    case CollectiveKind::all_reduce:
      return start_all_reduce(collective);
    case CollectiveKind::broadcast:
      return start_broadcast(collective);
    case CollectiveKind::barrier:
      return start_barrier();
    case CollectiveKind::none:
      break;
  }
  return {};
}

Work MpiCommunicator::start_all_gather(const Collective& c) {
  auto* to = static_cast<std::byte*>(c.out);
  const std::size_t count = c.count;
  copy_bytes(to + c.bytes() * static_cast<std::size_t>(rank_), c.in, c.bytes());
  if (count == 0) {
    return {};
  }
  const auto start = [=, exchange = next_exchange(c.dtype)](MpiWork::Requests& requests) {
    exchange_pieces(exchange, to, count, requests);
  };
  return make_work(describe(c), {start});
}

Work MpiCommunicator::start_reduce_scatter(const Collective& c) {
  const std::size_t count = c.count;
  Pieces pieces{static_cast<const std::byte*>(c.in), {}, {}};
  for (int rank = 0; rank < size_; ++rank) {
    pieces.begins.push_back(static_cast<std::size_t>(rank) * count);
    pieces.counts.push_back(count);
  }
  return make_work(describe(c),
                   reduce_scatter_stages(next_exchange(c.dtype), std::move(pieces),
                                         static_cast<std::byte*>(c.out), c.dtype, c.op, pool_),
                   kSegmentsUnderway);
}

Work MpiCommunicator::start_all_reduce(const Collective& c) {
  const auto& [kind, in, out, count, dtype, op, root] = c;
  if (count == 0) {
    return {};
  }
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(out);
  const bool small = count * size_of(dtype) * static_cast<std::size_t>(size_) <= kSmallGather;
  return make_work(describe(c),
                   small ? small_all_reduce_stages(from, to, count, dtype, op)
                         : all_reduce_stages(from, to, count, dtype, op),
                   small ? 1 : kSegmentsUnderway);
}

/// Everybody gets what everybody has and reduces it in rank order: the same bits on all ranks,
/// which MPI_Iallreduce does not promise.
std::vector<MpiWork::Stage> MpiCommunicator::small_all_reduce_stages(const std::byte* in,
                                                                     std::byte* out,
                                                                     std::size_t count, DType dtype,
                                                                     ReduceOp op) {
  const std::size_t bytes = count * size_of(dtype);
  const auto staging = pool_.take(bytes * static_cast<std::size_t>(size_));
  const auto part_of = [=](int rank) {
    return staging.get() + bytes * static_cast<std::size_t>(rank);
  };
  const auto gather = [=, exchange = next_exchange(dtype)](MpiWork::Requests& requests) {
    copy_bytes(part_of(exchange.rank()), in, bytes);
    exchange_pieces(exchange, staging.get(), count, requests);
  };
  const auto add = [=, size = size_](MpiWork::Requests&) {
    std::vector<const void*> inputs;
    for (int rank = 0; rank < size; ++rank) {
      inputs.push_back(part_of(rank));
    }
    reduce(out, inputs, count, dtype, op);
  };
  return {gather, add};
}

/// A reduce-scatter into this rank's part of `out`, then everybody sends its part to everybody.
std::vector<MpiWork::Stage> MpiCommunicator::all_reduce_stages(const std::byte* in, std::byte* out,
                                                               std::size_t count, DType dtype,
                                                               ReduceOp op) {
  const Exchange exchange = next_exchange(dtype);
  const EvenParts parts(count, static_cast<std::size_t>(size_), exchange.width());
  Pieces pieces{in, {}, {}};
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(size_); ++rank) {
    pieces.begins.push_back(parts.begin(rank));
    pieces.counts.push_back(parts.size(rank));
  }
  const auto part_of = [=](int rank) {
    return out + parts.begin(static_cast<std::size_t>(rank)) * exchange.width();
  };
  auto stages =
      reduce_scatter_stages(exchange, std::move(pieces), part_of(rank_), dtype, op, pool_);
  stages.emplace_back([=](MpiWork::Requests& requests) {
    const auto mine = static_cast<std::size_t>(exchange.rank());
    for (int i = 1; i < exchange.size(); ++i) {
      const int to = (exchange.rank() + i) % exchange.size();
      exchange.send(part_of(exchange.rank()), parts.size(mine), to, requests);
    }
    for (int i = 1; i < exchange.size(); ++i) {
      const int from = (exchange.rank() + exchange.size() - i) % exchange.size();
      exchange.receive(part_of(from), parts.size(static_cast<std::size_t>(from)), from, requests);
    }
  });
  return stages;
}

Work MpiCommunicator::start_broadcast(const Collective& c) {
  if (c.count == 0) {
    return {};
  }
  const auto start = [=, this](MpiWork::Requests& requests) {
    for (std::size_t begin = 0; begin < c.count; begin += max_elements_) {
      const auto n = static_cast<int>(std::min(max_elements_, c.count - begin));
      requests.push_back(ibcast(static_cast<std::byte*>(c.out) + begin * size_of(c.dtype), n,
                                type_of(c.dtype), c.root, comm_.get()));
    }
  };
  return make_work(describe(c), {start});
}

Work MpiCommunicator::start_barrier() {
  const auto start = [=, this](MpiWork::Requests& requests) {
    requests.push_back(ibarrier(comm_.get()));
  };
  return make_work("barrier", {start});
}

std::unique_ptr<Communicator> MpiCommunicator::duplicate() { return twin(); }

CommHandle MpiCommunicator::duplicate_handle() { return comm_dup(comm_.get()); }

std::unique_ptr<MpiCommunicator> MpiCommunicator::twin() {
  return std::make_unique<MpiCommunicator>(duplicate_handle(), max_elements_);
}

}  // namespace sherd::comm::mpi
