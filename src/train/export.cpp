#include "sherd/train/export.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/safetensors.hpp"
#include "sherd/nn/module.hpp"
#include "sherd/train/hf_config.hpp"
#include "sherd/train/hf_weights.hpp"
#include "train/checkpoint_model.hpp"

namespace sherd::train {
namespace {

using Sources = std::vector<io::SafetensorsSource>;

std::size_t bytes_of(const io::SafetensorsSource& source) {
  return static_cast<std::size_t>(source.shape.numel()) * size_of(source.dtype);
}

/// One source a parameter, reading the checkpoint as it is asked.
Sources make_sources(const io::CheckpointReader& checkpoint, const nn::LlamaConfig& config,
                     DType dtype) {
  std::map<std::string, const io::TensorInfo*> stored;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    stored.emplace(info.key, &info);
  }
  Sources sources;
  const nn::Llama model(config);
  for (const nn::NamedParameter& named : nn::named_parameters(model)) {
    const std::string key = checkpoint_key(named.name);
    const auto found = stored.find(key);
    validate(found != stored.end() && found->second->shape == named.parameter.value.shape(),
             fmt::format("checkpoint of step {}: tensor '{}' is missing or has another shape than "
                         "its configuration says",
                         checkpoint.step(), key));
    const DType stored_dtype = found->second->dtype;
    sources.push_back({hf_name(named.name), found->second->shape, dtype,
                       [&checkpoint, key, stored_dtype](std::int64_t first, const Tensor& out) {
                         const Tensor raw = Tensor::empty({out.numel()}, stored_dtype);
                         checkpoint.read(key, first, raw);
                         convert(raw, out);
                       }});
  }
  return sources;
}

/// Whole tensors in order, a new file when the next one would not fit.
std::vector<Sources> split(Sources sources, std::size_t file_bytes) {
  std::vector<Sources> files(1);
  std::size_t filled = 0;
  for (io::SafetensorsSource& source : sources) {
    const std::size_t bytes = bytes_of(source);
    if (!files.back().empty() && filled + bytes > file_bytes) {
      files.emplace_back();
      filled = 0;
    }
    filled += bytes;
    files.back().push_back(std::move(source));
  }
  return files;
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  auto temporary = file;
  temporary += ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) {
    throw IoError(fmt::format("{}: cannot be written", temporary.string()));
  }
  std::filesystem::rename(temporary, file);
}

void write_weights(const std::vector<Sources>& files, const std::filesystem::path& folder) {
  if (files.size() == 1) {
    io::write_safetensors(folder / "model.safetensors", files.front());
    return;
  }
  nlohmann::ordered_json index;
  index["metadata"]["total_size"] = 0;
  std::size_t total = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    io::write_safetensors(folder / name, files[i]);
    for (const io::SafetensorsSource& source : files[i]) {
      index["weight_map"][source.name] = name;
      total += bytes_of(source);
    }
  }
  index["metadata"]["total_size"] = total;
  write_text(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

/// A folder that an earlier export left must not mix with this one.
void remove_weights(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> old;
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    const std::string name = item.path().filename().string();
    if (name.rfind("model", 0) == 0 && name.find(".safetensors") != std::string::npos) {
      old.push_back(item.path());
    }
  }
  for (const auto& file : old) {
    std::filesystem::remove(file);
  }
}

}  // namespace

void export_safetensors(const io::CheckpointReader& checkpoint, const std::filesystem::path& folder,
                        const ExportOptions& options) {
  validate(options.dtype == DType::f32 || options.dtype == DType::bf16,
           "--dtype: weights are written as f32 or bf16");
  const nn::LlamaConfig config = model_of(checkpoint);
  const auto files = split(make_sources(checkpoint, config, options.dtype), options.file_bytes);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw IoError(fmt::format("{}: cannot be made ({})", folder.string(), error.message()));
  }
  remove_weights(folder);
  write_weights(files, folder);
  write_text(folder / "config.json", to_hf_config(config, options.dtype));
  const HfWeights read_back(folder, read_hf_config(folder));
}

}  // namespace sherd::train
