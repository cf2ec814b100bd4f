#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/io/load_options.hpp"
#include "sherd/tensor/shape.hpp"

namespace sherd::io {

/// What a checkpoint or a file says of a tensor it holds.
struct StoredTensor {
  std::string key;
  std::vector<std::string> aliases;  ///< whole keys
  Shape shape;
  DType dtype = DType::f32;
};

/// So many names or differences a message spells out.
inline constexpr std::size_t kMostShown = 5;

struct NameMatch {
  /// A tensor of the state, counted in key order, and a stored one.
  struct Pair {
    std::size_t tensor = 0;
    std::size_t stored = 0;
  };
  std::vector<Pair> pairs;
  std::vector<std::string> problems;  ///< what the options do not allow, a line each
};

/// Pairs the tensors of a state that `options` select with stored ones, by any of their names;
/// differences and conversions go to the report. Local; the same on all ranks.
[[nodiscard]] NameMatch match_names(const std::vector<StoredTensor>& stored,
                                    const dtensor::StateDict& state, const LoadOptions& options,
                                    LoadReport& report);

/// Whether options.select takes `key`.
[[nodiscard]] inline bool selected(const LoadOptions& options, const std::string& key) {
  return !options.select || options.select(key);
}

/// "a, b, c and 4 more"
[[nodiscard]] std::string first_few(const std::vector<std::string>& names);

}  // namespace sherd::io
