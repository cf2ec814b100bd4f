#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "sherd/base/dtype.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::weights {

struct ExportOptions {
  DType dtype = DType::f32;  ///< f32, bf16 or f16, of the model's weights
  std::size_t file_bytes = std::size_t{5}
                           << 30;  ///< start another file beyond; one tensor is never cut
  bool all = false;                ///< also what is not the model
};

/// Writes the model of a checkpoint as a Hugging Face folder: config.json, and model.safetensors or
/// numbered parts with their index. With `all`, every other tensor goes to state/state.safetensors
/// in that folder, under its key and in its own dtype; a checkpoint of no known model has only
/// that. Reads back the headers at the end. Local; holds no more than a few MiB. Throws IoError,
/// ConfigError (no known model in the checkpoint; a weight too large for f16).
void export_safetensors(const io::CheckpointReader& checkpoint, const std::filesystem::path& folder,
                        const ExportOptions& options);

}  // namespace sherd::weights
