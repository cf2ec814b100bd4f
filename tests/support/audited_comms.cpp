#include "support/audited_comms.hpp"

#include <utility>
#include <vector>

namespace sherd::testing {
namespace {

using fsdp::Access;
using Actor = HappensBefore::Actor;

std::string sender(const std::string& place, int rank) {
  return place + "/" + std::to_string(rank);
}

class AuditedBoard : public comm::EpochBoard {
 public:
  AuditedBoard(std::unique_ptr<comm::EpochBoard> inner, AuditedRank& audited, std::string id,
               std::size_t slots, int rank, int size)
      : inner_(std::move(inner)),
        audited_(audited),
        id_(std::move(id)),
        slots_(slots),
        rank_(rank),
        size_(size) {}

  void post(std::size_t slot, std::uint64_t epoch) noexcept override {
    audited_.checker.delay(audited_.rank);
    audited_.checker.store(sender(place(slot), rank_), epoch,
                           audited_.checker.release(audited_.rank));
    inner_->post(slot, epoch);
  }
  std::uint64_t read(std::size_t slot, int rank) const noexcept override {
    return inner_->read(slot, rank);
  }
  void wait_all(std::size_t slot, std::uint64_t epoch, const char* what) const override {
    inner_->wait_all(slot, epoch, what);
    if (audited_.deaf.board == nullptr || !audited_.deaf.board(what, slot, slots_)) {
      for (int r = 0; epoch > 0 && r < size_; ++r) {
        audited_.checker.join(audited_.rank,
                              audited_.checker.stored(sender(place(slot), r), epoch));
      }
    }
    audited_.checker.delay(audited_.rank);
  }
  /// Tells the rank nothing: what looks once and goes on must wait before it uses memory.
  bool test_all(std::size_t slot, std::uint64_t epoch) const noexcept override {
    return inner_->test_all(slot, epoch);
  }

 private:
  std::string place(std::size_t slot) const { return id_ + "#" + std::to_string(slot); }

  std::unique_ptr<comm::EpochBoard> inner_;
  AuditedRank& audited_;
  std::string id_;
  std::size_t slots_;
  int rank_;
  int size_;
};

/// Memory an operation uses until it is complete.
struct OperationUse {
  Access access = Access::read;
  const std::byte* first = nullptr;
  std::size_t bytes = 0;
};

class AuditedWork : public comm::WorkState {
 public:
  AuditedWork(comm::Work inner, AuditedRank& audited, std::vector<OperationUse> uses,
              std::vector<std::string> heard)
      : inner_(std::move(inner)),
        audited_(audited),
        uses_(std::move(uses)),
        heard_(std::move(heard)) {}

  bool test() override {
    const bool done = inner_.test();
    if (done) {
      finish();
    }
    return done;
  }
  void wait() override {
    inner_.wait();
    finish();
  }

 private:
  void finish() {
    for (const OperationUse& use : uses_) {
      audited_.checker.end(audited_.rank, Actor::operation, use.access, use.first, use.bytes);
    }
    for (const std::string& key : heard_) {
      audited_.checker.join(audited_.rank, audited_.checker.stored(key, 0));
    }
    uses_.clear();
    heard_.clear();
  }

  comm::Work inner_;
  AuditedRank& audited_;
  std::vector<OperationUse> uses_;
  std::vector<std::string> heard_;  // where the clocks lie of those whose data it brings
};

class AuditedCommunicator : public comm::Communicator {
 public:
  /// `world`: also small things in memory of the moment are exchanged, which is used again by
  /// whoever gets it next: only the clocks matter.
  AuditedCommunicator(std::unique_ptr<comm::Communicator> inner, AuditedRank& audited,
                      std::string id, bool world)
      : inner_(std::move(inner)), audited_(audited), id_(std::move(id)), world_(world) {}

  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::string_view backend() const noexcept override { return inner_->backend(); }

  std::unique_ptr<comm::SharedRegion> allocate_shared(std::size_t bytes) override {
    return inner_->allocate_shared(bytes);
  }
  std::unique_ptr<comm::EpochBoard> make_epoch_board(std::size_t slots) override {
    auto board = inner_->make_epoch_board(slots);
    return board == nullptr ? nullptr
                            : std::make_unique<AuditedBoard>(std::move(board), audited_, child(),
                                                             slots, rank(), size());
  }
  std::unique_ptr<comm::Communicator> duplicate() override {
    return std::make_unique<AuditedCommunicator>(inner_->duplicate(), audited_, child(), world_);
  }

 private:
  comm::Work start(const comm::Collective& c) override {
    using Kind = comm::CollectiveKind;
    if (c.kind == Kind::broadcast) {
      return inner_->issue(c);
    }
    const bool barrier = c.kind == Kind::barrier;
    comm::Work work = watch(used_by(c), barrier ? 1 : c.count, [&] { return inner_->issue(c); });
    if (barrier) {
      work.wait();
    }
    return work;
  }

  std::vector<OperationUse> used_by(const comm::Collective& c) const {
    using Kind = comm::CollectiveKind;
    const std::size_t piece = c.bytes();
    const std::size_t all = piece * static_cast<std::size_t>(size());
    switch (c.kind) {
      case Kind::all_gather:
        return uses(c.in, piece, c.out, all);
      case Kind::reduce_scatter:
        return within(c.out, c.in, all) ? uses(c.in, 0, c.in, all) : uses(c.in, all, c.out, piece);
      case Kind::all_reduce:
        return uses(c.in, piece, c.out, piece);
      default:
        return {};
    }
  }

  static bool within(const void* inner, const void* outer, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(outer);
    const auto* at = static_cast<const std::byte*>(inner);
    return at >= first && at < first + bytes;
  }
  static std::vector<OperationUse> uses(const void* from, std::size_t from_bytes, const void* to,
                                        std::size_t to_bytes) {
    std::vector<OperationUse> both = {{Access::write, static_cast<const std::byte*>(to), to_bytes}};
    if (!within(from, to, to_bytes)) {
      both.push_back({Access::read, static_cast<const std::byte*>(from), from_bytes});
    }
    return both;
  }

  template <class Issue>
  comm::Work watch(std::vector<OperationUse> uses, std::size_t count, const Issue& issue) {
    const std::string operation = id_ + "@" + std::to_string(issued_++);
    if (world_) {
      uses.clear();
    }
    for (const OperationUse& use : uses) {
      audited_.checker.begin(audited_.rank, Actor::operation, use.access, use.first, use.bytes);
    }
    audited_.checker.store(sender(operation, rank()), 0, audited_.checker.release(audited_.rank));
    std::vector<std::string> heard;
    for (int r = 0; r < size() && count > 0 && !(world_ && audited_.deaf.world); ++r) {
      heard.push_back(sender(operation, r));
    }
    audited_.checker.delay(audited_.rank);
    return comm::Work(
        std::make_unique<AuditedWork>(issue(), audited_, std::move(uses), std::move(heard)));
  }

  /// Ranks make duplicates and boards in the same order.
  std::string child() { return id_ + "." + std::to_string(children_++); }

  std::unique_ptr<comm::Communicator> inner_;
  AuditedRank& audited_;
  std::string id_;
  bool world_;
  int issued_ = 0;
  int children_ = 0;
};

}  // namespace

void audit(comm::MeshComms& comms, AuditedRank& audited) {
  const mesh::MeshCoord at{comms.cross->rank(), comms.local->rank()};
  const auto wrap = [&](std::unique_ptr<comm::Communicator>& comm, const std::string& id) {
    comm = std::make_unique<AuditedCommunicator>(std::move(comm), audited, id, id == "world");
  };
  wrap(comms.world, "world");
  wrap(comms.local, "local" + std::to_string(at.node));
  wrap(comms.cross, "cross" + std::to_string(at.local));
}

}  // namespace sherd::testing
