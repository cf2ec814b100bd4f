// Sums over what reports list: bytes by kind, traffic by level.
#include "sherd/fsdp/memory_report.hpp"

namespace sherd::fsdp {

std::vector<std::pair<std::string, std::size_t>> by_kind(const MemoryReport& report) {
  return {{"parameters", report.parameters},
          {"compute_parameters", report.compute_parameters},
          {"gradients", report.gradients},
          {"partial_gradients", report.partial_gradients},
          {"optimizer_state", report.optimizer_state},
          {"gather_slots", report.gather_slots},
          {"reduction_slots", report.reduction_slots},
          {"cross_slots", report.cross_slots},
          {"ignored", report.ignored}};
}

std::size_t total_bytes(const MemoryReport& report) {
  std::size_t sum = 0;
  for (const auto& [kind, bytes] : by_kind(report)) {
    sum += bytes;
  }
  return sum;
}

void TrafficReport::add(LinkLevel level, Collective collective, int ranks, std::size_t bytes) {
  if (ranks == 1) {
    return;
  }
  const auto n = static_cast<std::size_t>(ranks);
  Traffic& traffic = at(level, collective);
  ++traffic.calls;
  traffic.bytes +=
      collective == Collective::all_reduce ? 2 * (bytes / n) * (n - 1) : bytes * (n - 1);
}

std::size_t TrafficReport::bytes(LinkLevel level) const {
  std::size_t sum = 0;
  for (const Traffic& traffic : entries_[static_cast<std::size_t>(level)]) {
    sum += traffic.bytes;
  }
  return sum;
}

TrafficReport TrafficReport::since(const TrafficReport& earlier) const {
  TrafficReport difference = *this;
  for (std::size_t level = 0; level < entries_.size(); ++level) {
    for (std::size_t i = 0; i < entries_[level].size(); ++i) {
      difference.entries_[level][i].calls -= earlier.entries_[level][i].calls;
      difference.entries_[level][i].bytes -= earlier.entries_[level][i].bytes;
    }
  }
  return difference;
}

}  // namespace sherd::fsdp
