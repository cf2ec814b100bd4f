#pragma once

#include <cstddef>
#include <vector>

namespace sherd::fsdp {

/// Which group comes after which, as the last forward ran; declaration order before the first.
/// Group 0 (the root) takes no part: it is there for the whole step.
class PrefetchOrder {
 public:
  explicit PrefetchOrder(std::size_t groups);

  /// A forward begins: what is recorded from now on replaces the order at its end.
  void start_forward();
  void record(std::size_t group);
  void end_forward();

  /// The group `distance` (>= 1) after / before `group`; 0 when there is none.
  [[nodiscard]] std::size_t after(std::size_t group, std::size_t distance) const;
  [[nodiscard]] std::size_t before(std::size_t group, std::size_t distance) const;
  /// First group of a forward; 0 when there is none.
  [[nodiscard]] std::size_t first() const { return order_.empty() ? 0 : order_.front(); }
  [[nodiscard]] std::size_t last() const { return order_.empty() ? 0 : order_.back(); }

 private:
  void set_order(std::vector<std::size_t> order);

  std::vector<std::size_t> order_;
  std::vector<std::size_t> recording_;
  std::vector<std::size_t> position_;  // by group; where it last stands in order_
};

}  // namespace sherd::fsdp
