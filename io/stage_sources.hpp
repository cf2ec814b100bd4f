#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/staging.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::io {

/// Where a save's bytes come from: the caller's tensors, kept alive, and copies of what may change
/// before it is staged.
class StageSources {
 public:
  /// What `rank` stores of `state`. Copies per_rank data and tensors with volatile_contents.
  StageSources(const StateLayout& layout, int rank, const dtensor::StateDict& state);

  /// This rank's bytes of an item.
  [[nodiscard]] const std::byte* item(std::size_t item) const { return data_.at(item); }

 private:
  const std::byte* add_copy(const std::byte* from, std::uint64_t bytes);

  std::vector<const std::byte*> data_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<std::byte>> copies_;
};

}  // namespace sherd::io
