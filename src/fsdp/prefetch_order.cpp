#include "fsdp/prefetch_order.hpp"

#include <utility>

namespace sherd::fsdp {

PrefetchOrder::PrefetchOrder(std::size_t groups) : position_(groups, 0) {
  std::vector<std::size_t> declared;
  for (std::size_t g = 1; g < groups; ++g) {
    declared.push_back(g);
  }
  set_order(std::move(declared));
}

void PrefetchOrder::set_order(std::vector<std::size_t> order) {
  order_ = std::move(order);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    position_[order_[i]] = i;
  }
}

void PrefetchOrder::start_forward() { recording_.clear(); }

void PrefetchOrder::record(std::size_t group) { recording_.push_back(group); }

void PrefetchOrder::end_forward() {
  if (recording_ != order_) {
    set_order(recording_);
  }
}

std::size_t PrefetchOrder::after(std::size_t group, std::size_t distance) const {
  const std::size_t at = position_[group] + distance;
  return at < order_.size() ? order_[at] : 0;
}

std::size_t PrefetchOrder::before(std::size_t group, std::size_t distance) const {
  const std::size_t at = position_[group];
  return at >= distance && at - distance < order_.size() ? order_[at - distance] : 0;
}

}  // namespace sherd::fsdp
