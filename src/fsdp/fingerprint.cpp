#include "fsdp/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sherd/base/error.hpp"

namespace sherd::fsdp {
namespace {

std::string describe(const Fingerprint::Record& record, const std::vector<std::string>& names) {
  static constexpr const char* kOperations[] = {"nothing", "all_gather", "reduce_scatter"};
  const std::string& group = names[record.group];
  return fmt::format("{}({}) as number {}", kOperations[record.operation],
                     group.empty() ? "root" : group, record.count);
}

}  // namespace

void require_equal(const std::vector<Fingerprint::Record>& by_rank,
                   const std::vector<std::string>& group_names) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const auto& record : by_rank) {
    ++votes[record.hash];
  }
  if (votes.size() == 1) {
    return;
  }
  const std::uint64_t majority =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  const auto is_odd = [&](const auto& record) { return record.hash != majority; };
  const auto odd = std::find_if(by_rank.begin(), by_rank.end(), is_odd);
  const auto usual = std::find_if_not(by_rank.begin(), by_rank.end(), is_odd);
  throw CommError(fmt::format(
      "rank {} last issued {}, rank {} {} (all ranks must run the same groups in the same order). "
      "Try: look for control flow that depends on the rank in forward",
      odd - by_rank.begin(), describe(*odd, group_names), usual - by_rank.begin(),
      describe(*usual, group_names)));
}

}  // namespace sherd::fsdp
