#include "sherd/comm/issue_log.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "comm/issue/divergence.hpp"
#include "comm/issue/issue_records.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/fnv1a.hpp"

namespace sherd::comm {
namespace {

std::uint64_t hash_of(const std::vector<std::string>& labels) {
  std::uint64_t hash = kFnv1aStart;
  for (const std::string& label : labels) {
    hash = fnv1a(fnv1a(label, hash), 0xFFU);  // no byte of UTF-8: where a label ends counts
  }
  return hash;
}

/// Throws on all ranks, before anything is made, when they do not name the same operations.
void require_same_labels(Communicator& comm, const std::vector<std::string>& labels) {
  const auto mine = static_cast<std::int64_t>(hash_of(labels) >> 1);
  std::int64_t lowest_and_negated_highest[2] = {mine, -mine};
  comm.all_reduce(lowest_and_negated_highest, lowest_and_negated_highest, 2, DType::i64,
                  ReduceOp::min)
      .wait();
  validate(lowest_and_negated_highest[0] == -lowest_and_negated_highest[1],
           "the ranks do not have the same operations to issue (they have built different models). "
           "Try: the same configuration on all ranks");
}

constexpr std::chrono::seconds kHearing{1};

bool all_heard(const IssueHistories& histories) {
  return std::all_of(histories.begin(), histories.end(),
                     [](const auto& history) { return history.has_value(); });
}

/// By the numbers the ranks are called by.
template <class Views>
Views renumbered(Views views, const std::vector<int>& numbers) {
  Views ordered = views;
  for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
    ordered[static_cast<std::size_t>(numbers[rank])] = std::move(views[rank]);
  }
  return ordered;
}

std::unique_ptr<IssueRecords> make_records(Communicator& comm) {
  if (auto shared = make_shared_records(comm)) {
    return shared;
  }
  if (mpi::MpiBased* messages = comm.capabilities().mpi) {
    return make_message_records(messages->duplicate_handle());
  }
  return make_lone_records(comm.rank(), comm.size());
}

}  // namespace

IssueLog::IssueLog(std::vector<std::string> labels, std::vector<int> numbers,
                   std::unique_ptr<IssueRecords> records)
    : labels_(std::move(labels)), numbers_(std::move(numbers)), records_(std::move(records)) {}

IssueLog::~IssueLog() = default;

void IssueLog::add(std::size_t label) noexcept {
  append(records_->own(), static_cast<std::uint32_t>(label));
}

std::uint64_t IssueLog::hash() const noexcept { return last_hash(records_->own()); }

std::uint64_t IssueLog::count() const noexcept {
  return records_->own().count.load(std::memory_order_relaxed);
}

void IssueLog::reset() noexcept { clear(records_->own()); }

void IssueLog::check() {
  const std::uint64_t era = records_->own().era.load(std::memory_order_relaxed);
  auto histories = records_->exchange();
  if (!find_divergence(renumbered(histories, numbers_), era, labels_)) {
    return;
  }
  // Proven. The others get a moment to be heard, too, so that all ranks name the same ones.
  const auto deadline = std::chrono::steady_clock::now() + kHearing;
  while (!all_heard(histories) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    histories = records_->exchange();
  }
  records_->leave();
  throw CommError(find_divergence(renumbered(std::move(histories), numbers_), era, labels_)
                      .value_or("the ranks have gone different ways"));
}

void IssueLog::waited(std::chrono::milliseconds) { check(); }

std::string IssueLog::describe() {
  return describe_last(renumbered(records_->exchange(), numbers_), labels_);
}

std::unique_ptr<IssueLog> make_issue_log(Communicator& comm, std::vector<std::string> labels,
                                         std::vector<int> numbers) {
  require_same_labels(comm, labels);
  expect(numbers.empty() || numbers.size() == static_cast<std::size_t>(comm.size()),
         "make_issue_log() needs a number for every rank or none");
  return std::make_unique<IssueLog>(std::move(labels), std::move(numbers), make_records(comm));
}

}  // namespace sherd::comm
