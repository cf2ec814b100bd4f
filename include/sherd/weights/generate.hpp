#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sherd/io/inspect.hpp"
#include "sherd/models/family.hpp"

namespace sherd::weights {

/// A model with its weights, and what it is.
struct LoadedModel {
  models::DecoderFacts facts;
  std::shared_ptr<nn::Module> module;
};

/// The model of a checkpoint, whole and in f32 on this process. Local. Throws ConfigError when the
/// checkpoint holds no known model.
[[nodiscard]] LoadedModel load_model(const io::CheckpointReader& checkpoint);

/// Throws ConfigError unless the checkpoint's model was trained on bytes (data.text, or token files
/// with a vocabulary of 256), which is what generate() speaks.
void require_byte_model(const io::CheckpointReader& checkpoint);

struct GenerateOptions {
  std::int64_t max_tokens = 200;
  double temperature = 0.8;  ///< 0: always the likeliest
  std::uint64_t seed = 0;
};

/// Continues `prompt` byte by byte and gives each to `sink`. The window is the model's longest
/// sequence. The same seed gives the same text. Local, blocking. Throws ConfigError: an empty
/// prompt, a model whose tokens are not bytes.
void generate(const LoadedModel& model, std::string_view prompt, const GenerateOptions& options,
              const std::function<void(char)>& sink);

}  // namespace sherd::weights
