#include <cstddef>
#include <utility>

#include "comm/issue/issue_records.hpp"

namespace sherd::comm {
namespace {

class SharedRecords final : public IssueRecords {
 public:
  SharedRecords(std::unique_ptr<SharedRegion> region, int rank, int size)
      : region_(std::move(region)), rank_(rank), size_(size) {}

  [[nodiscard]] IssueRecord& own() noexcept override { return record(rank_); }
  [[nodiscard]] IssueHistories exchange() override {
    IssueHistories histories;
    for (int rank = 0; rank < size_; ++rank) {
      histories.emplace_back(read(record(rank)));
    }
    return histories;
  }
  void leave() noexcept override {}

 private:
  [[nodiscard]] IssueRecord& record(int rank) const noexcept {
    return reinterpret_cast<IssueRecord*>(region_->bytes().data())[rank];
  }

  std::unique_ptr<SharedRegion> region_;
  int rank_;
  int size_;
};

class LoneRecords final : public IssueRecords {
 public:
  LoneRecords(int rank, int size) : rank_(rank), size_(size) {}

  [[nodiscard]] IssueRecord& own() noexcept override { return record_; }
  [[nodiscard]] IssueHistories exchange() override {
    IssueHistories histories(static_cast<std::size_t>(size_));
    histories[static_cast<std::size_t>(rank_)] = read(record_);
    return histories;
  }
  void leave() noexcept override {}

 private:
  IssueRecord record_{};
  int rank_;
  int size_;
};

}  // namespace

std::unique_ptr<IssueRecords> make_shared_records(Communicator& comm) {
  auto region = comm.allocate_shared(sizeof(IssueRecord) * static_cast<std::size_t>(comm.size()));
  if (region == nullptr) {
    return nullptr;
  }
  return std::make_unique<SharedRecords>(std::move(region), comm.rank(), comm.size());
}

std::unique_ptr<IssueRecords> make_lone_records(int rank, int size) {
  return std::make_unique<LoneRecords>(rank, size);
}

}  // namespace sherd::comm
