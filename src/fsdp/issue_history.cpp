// What a rank issues, by number; and the error that ends ranks which have gone different ways.
#include "fsdp/issue_history.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "sherd/base/error.hpp"

namespace sherd::fsdp {
namespace {

/// In the order IssueHistory numbers them: what concerns the whole model, then two a group.
std::vector<std::string> labels_of(const GroupSet& set) {
  std::vector<std::string> labels{"backward", "clip_grad_norm", "update"};
  for (std::size_t g = 0; g < set.groups.size(); ++g) {
    labels.push_back(group_label("all_gather", set, g));
    labels.push_back(group_label("reduce_scatter", set, g));
  }
  return labels;
}

}  // namespace

IssueHistory::IssueHistory(comm::Communicator& world, const GroupSet& set, std::vector<int> numbers)
    : log_(comm::make_issue_log(world, labels_of(set), std::move(numbers))) {}

void IssueHistory::explain(comm::Communicator& world) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  log_->check();
  world.barrier();  // by now every rank has shown its record
  while (Clock::now() < deadline) {
    log_->check();
    std::this_thread::yield();
  }
  throw CommError("the ranks have gone different ways. " + log_->describe() +
                  " Try: look for control flow that depends on the rank in forward");
}

}  // namespace sherd::fsdp
