#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "sherd/io/safetensors.hpp"
#include "sherd/models/family.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::weights {

/// The weights in a Hugging Face folder, read range by range. Local. Construction compares names
/// and shapes with those of `model` and throws ConfigError listing the missing, extra and wrongly
/// shaped tensors (the first twenty), or naming the first whose type is not computed with.
class HfWeights {
 public:
  HfWeights(const std::filesystem::path& folder, const models::ModelSpec& model);

  /// Elements [first, first+out.numel()) of the parameter `name` into `out` (1-D).
  void fill(const std::string& name, std::int64_t first, const Tensor& out) const;

 private:
  io::SafetensorsReader reader_;
  std::function<std::string(std::string_view)> hf_name_;
};

}  // namespace sherd::weights
