#include <chrono>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "comm/issue/issue_records.hpp"
#include "comm/mpi/mpi_api.hpp"
#include "sherd/base/log.hpp"

namespace sherd::comm {
namespace {

/// How long a rank that leaves tries to get its last messages out.
constexpr std::chrono::seconds kFarewell{1};
constexpr int kTag = 0;

/// Ranks that wait long send each other what they have issued: once, and again when it has grown.
/// Those who never wait find the messages when they do.
class MessageRecords final : public IssueRecords {
 public:
  explicit MessageRecords(mpi::CommHandle comm)
      : comm_(std::move(comm)),
        rank_(mpi::comm_rank(comm_.get())),
        size_(mpi::comm_size(comm_.get())),
        known_(static_cast<std::size_t>(size_)) {}

  ~MessageRecords() override {
    leave();
    if (!outbox_.empty()) {
      static_cast<void>(new std::deque<Message>(std::move(outbox_)));  // MPI may still read them
    }
  }

  [[nodiscard]] IssueRecord& own() noexcept override { return record_; }

  [[nodiscard]] IssueHistories exchange() override {
    receive();
    send();
    clear_outbox();
    known_[static_cast<std::size_t>(rank_)] = read(record_);
    return known_;
  }

  void leave() noexcept override {
    using Clock = std::chrono::steady_clock;
    try {
      const auto deadline = Clock::now() + kFarewell;
      while (!clear_outbox() && Clock::now() < deadline) {
      }
    } catch (const std::exception& failure) {
      log::warning(std::string("other ranks were not told what was issued: ") + failure.what());
    }
  }

 private:
  struct Message {
    IssueHistory history;
    std::vector<MPI_Request> requests;
  };

  void receive() {
    for (int from = mpi::iprobe_any(kTag, comm_.get()); from >= 0;
         from = mpi::iprobe_any(kTag, comm_.get())) {
      IssueHistory history;
      mpi::recv(&history, sizeof(history), MPI_BYTE, from, kTag, comm_.get());
      known_[static_cast<std::size_t>(from)] = history;
    }
  }

  void send() {
    const IssueHistory now = read(record_);
    if (sent_ && sent_era_ == now.era && sent_count_ == now.count) {
      return;
    }
    Message& message = outbox_.emplace_back(Message{now, {}});
    for (int i = 1; i < size_; ++i) {
      message.requests.push_back(mpi::isend(&message.history, sizeof(message.history), MPI_BYTE,
                                            (rank_ + i) % size_, kTag, comm_.get()));
    }
    sent_ = true;
    sent_era_ = now.era;
    sent_count_ = now.count;
  }

  /// Whether everything has been sent.
  bool clear_outbox() {
    while (!outbox_.empty() && mpi::testall(outbox_.front().requests)) {
      outbox_.pop_front();
    }
    return outbox_.empty();
  }

  mpi::CommHandle comm_;
  int rank_;
  int size_;
  IssueRecord record_{};
  IssueHistories known_;
  std::deque<Message> outbox_;  // whose elements stay where they are
  bool sent_ = false;
  std::uint64_t sent_era_ = 0;
  std::uint64_t sent_count_ = 0;
};

}  // namespace

std::unique_ptr<IssueRecords> make_message_records(mpi::CommHandle comm) {
  return std::make_unique<MessageRecords>(std::move(comm));
}

}  // namespace sherd::comm
