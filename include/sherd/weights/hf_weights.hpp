#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "sherd/io/safetensors.hpp"
#include "sherd/models/llama.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::weights {

/// Hugging Face's name of one of nn::Llama's parameters: "model." in front of all but lm_head.
[[nodiscard]] std::string hf_name(std::string_view parameter);

/// The weights of a Hugging Face Llama folder, read range by range. Local. Construction compares
/// names and shapes with `config` and throws ConfigError listing every missing, extra and wrongly
/// shaped tensor.
class HfWeights {
 public:
  HfWeights(const std::filesystem::path& folder, const models::LlamaConfig& config);

  /// Elements [first, first+out.numel()) of nn::Llama's parameter `name` into `out` (1-D).
  void fill(const std::string& name, std::int64_t first, const Tensor& out) const;

 private:
  io::SafetensorsReader reader_;
};

}  // namespace sherd::weights
