#include "comm/shared/lockstep.hpp"

#include <map>
#include <string>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

/// Small enough that what one rank stages is still in the caches when the others read it.
constexpr std::size_t kCapacity = std::size_t{1} << 20;
constexpr std::size_t kPage = 4096;

}  // namespace

/// The first page of a rank's part: how far it is and what it does. Zero-filled memory is valid.
struct Lockstep::Mailbox {
  EpochCell published;
  EpochCell closed;
  struct alignas(64) Line {
    Operation operation;
  } operations[2];
};

Lockstep::Lockstep(std::shared_ptr<SharedTeam> team)
    : peers_(std::move(team)),
      capacity_(kCapacity),
      stride_(bytes_for(1)),
      region_(peers_.team().allocate(bytes_for(peers_.size()))) {
  static_assert(sizeof(Mailbox) <= kPage);
}

std::size_t Lockstep::bytes_for(int ranks) noexcept {
  return (kPage + 2 * kCapacity) * static_cast<std::size_t>(ranks);
}

Lockstep::Mailbox& Lockstep::mailbox(int rank) const noexcept {
  std::byte* part = region_->bytes().data() + stride_ * static_cast<std::size_t>(rank);
  return *reinterpret_cast<Mailbox*>(part);
}

std::byte* Lockstep::staging(int rank) const noexcept {
  std::byte* part = region_->bytes().data() + stride_ * static_cast<std::size_t>(rank);
  return part + kPage + capacity_ * (step_ % 2);
}

template <class Cells>
void Lockstep::await_cells(const Cells& cells, std::uint64_t epoch, const Operation& operation) {
  broken_ = true;
  peers_.await_all(cells, epoch, [&] { return to_string(operation); });
  broken_ = false;
}

std::byte* Lockstep::open() const {
  if (broken_) {
    throw CommError("a collective failed before (this communicator cannot be used any more)");
  }
  return staging(peers_.rank());
}

void Lockstep::publish(const Operation& operation) noexcept {
  Mailbox& mine = mailbox(peers_.rank());
  mine.operations[step_ % 2].operation = operation;
  post(mine.published, step_ + 1);
}

void Lockstep::await(const Operation& operation) {
  await_cells([&](int rank) -> const EpochCell& { return mailbox(rank).published; }, step_ + 1,
              operation);
  for (int rank = 0; rank < peers_.size(); ++rank) {
    if (!published_by(rank).same_as(operation)) {
      broken_ = true;
      disagree();
    }
  }
}

const std::byte* Lockstep::staged_by(int rank) const noexcept { return staging(rank); }

const Operation& Lockstep::published_by(int rank) const noexcept {
  return mailbox(rank).operations[step_ % 2].operation;
}

void Lockstep::close() noexcept { post(mailbox(peers_.rank()).closed, ++step_); }

void Lockstep::drain(const Operation& operation) {
  await_cells([&](int rank) -> const EpochCell& { return mailbox(rank).closed; }, step_, operation);
}

void Lockstep::disagree() const {
  std::map<std::string, std::string> ranks_by_operation;
  for (int rank = 0; rank < peers_.size(); ++rank) {
    std::string& ranks = ranks_by_operation[to_string(published_by(rank))];
    ranks += (ranks.empty() ? "rank " : ", ") + std::to_string(rank);
  }
  std::string message;
  for (const auto& [operation, ranks] : ranks_by_operation) {
    message += (message.empty() ? "" : "; ") + ranks + " issued " + operation;
  }
  throw CommError(message + " (all ranks must issue the same collective)");
}

}  // namespace sherd::comm
