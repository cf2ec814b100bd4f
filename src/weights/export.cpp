#include "sherd/weights/export.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/safetensors.hpp"
#include "sherd/nn/module.hpp"
#include "sherd/weights/hf_weights.hpp"
#include "weights/checkpoint_model.hpp"
#include "weights/export_folder.hpp"

namespace sherd::weights {
namespace {

using Sources = std::vector<io::SafetensorsSource>;

using Metadata = std::map<std::string, std::string>;

constexpr const char* kModel = "model";
constexpr const char* kState = "state";

std::size_t bytes_of(const io::SafetensorsSource& source) {
  return static_cast<std::size_t>(source.shape.numel()) * size_of(source.dtype);
}

/// Reads elements from `first` on and converts them. Values that f16 cannot hold would become
/// infinite without a word.
void read_as(const io::CheckpointReader& checkpoint, const std::string& key, DType stored,
             std::int64_t first, const Tensor& out) {
  if (stored == out.dtype()) {
    checkpoint.read(key, first, out);
    return;
  }
  const Tensor raw = Tensor::empty({out.numel()}, stored);
  checkpoint.read(key, first, raw);
  convert(raw, out);
  if (out.dtype() != DType::f16) {
    return;
  }
  const Tensor before = to_dtype(raw, DType::f32);
  const Tensor after = to_dtype(out, DType::f32);
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    validate(!std::isinf(after.data<float>()[i]) || std::isinf(before.data<float>()[i]), [&] {
      return fmt::format(
          "tensor '{}': element {} is {}, beyond what f16 holds (65504). Try: --dtype bf16", key,
          first + i, before.data<float>()[i]);
    });
  }
}

io::SafetensorsSource source_of(const io::CheckpointReader& checkpoint, const io::TensorInfo& info,
                                std::string name, DType dtype) {
  return {
      std::move(name), info.shape, dtype,
      [&checkpoint, key = info.key, stored = info.dtype](std::int64_t first, const Tensor& out) {
        read_as(checkpoint, key, stored, first, out);
      }};
}

/// One source a parameter, reading the checkpoint as it is asked.
Sources make_sources(const io::CheckpointReader& checkpoint, const models::ModelSpec& model,
                     DType dtype) {
  std::map<std::string, const io::TensorInfo*> stored;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    stored.emplace(info.key, &info);
  }
  Sources sources;
  const auto module = model.make();
  for (const nn::NamedParameter& named : nn::named_parameters(*module)) {
    const std::string key = checkpoint_key(named.name);
    const auto found = stored.find(key);
    validate(found != stored.end() && found->second->shape == named.value.shape(), [&] {
      return fmt::format(
          "checkpoint of step {}: tensor '{}' is missing or has another shape than its "
          "configuration says",
          checkpoint.step(), key);
    });
    sources.push_back(
        source_of(checkpoint, *found->second, model.family().hf_name(named.name), dtype));
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
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw IoError(fmt::format("{}: cannot be written", temporary.string()));
  }
  std::filesystem::rename(temporary, file);
}

/// A copy whose bytes nobody has compared says so.
Metadata metadata_of(const io::CheckpointReader& checkpoint) {
  return checkpoint.verifies() ? Metadata{} : Metadata{{"sherd_verified", "no"}};
}

/// "<base>.safetensors", or parts and their index.
void write_files(const std::vector<Sources>& files, const std::filesystem::path& folder,
                 const std::string& base, const Metadata& metadata) {
  if (files.size() == 1) {
    io::write_safetensors(folder / (base + ".safetensors"), files.front(), metadata);
    return;
  }
  nlohmann::ordered_json index;
  index["metadata"]["total_size"] = 0;
  std::size_t total = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name =
        fmt::format("{}-{:05}-of-{:05}.safetensors", base, i + 1, files.size());
    io::write_safetensors(folder / name, files[i], metadata);
    for (const io::SafetensorsSource& source : files[i]) {
      index["weight_map"][source.name] = name;
      total += bytes_of(source);
    }
  }
  index["metadata"]["total_size"] = total;
  write_text(folder / (base + ".safetensors.index.json"), index.dump(2) + "\n");
}

bool has_model(const io::CheckpointReader& checkpoint) {
  try {
    (void)model_of(checkpoint);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void export_model(const io::CheckpointReader& checkpoint, const std::filesystem::path& folder,
                  const ExportOptions& options) {
  const models::ModelSpec model = model_of(checkpoint);
  const auto files = split(make_sources(checkpoint, model, options.dtype), options.file_bytes);
  write_files(files, folder, kModel, metadata_of(checkpoint));
  write_text(folder / "config.json", model.write(options.dtype));
  const HfWeights read_back(folder, models::read_model(folder / "config.json"));
}

/// Everything but the parameters of the model that export_model() writes.
void export_state(const io::CheckpointReader& checkpoint, const std::filesystem::path& folder,
                  const ExportOptions& options, bool with_model) {
  Sources sources;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    if (!with_model || info.key.rfind(checkpoint_key(""), 0) != 0) {
      sources.push_back(source_of(checkpoint, info, info.key, info.dtype));
    }
  }
  std::filesystem::create_directories(folder);
  write_files(split(std::move(sources), options.file_bytes), folder, kState,
              metadata_of(checkpoint));
}

}  // namespace

void export_safetensors(const io::CheckpointReader& checkpoint, const std::filesystem::path& folder,
                        const ExportOptions& options) {
  validate(
      options.dtype == DType::f32 || options.dtype == DType::bf16 || options.dtype == DType::f16,
      "--dtype: weights are written as f32, bf16 or f16");
  const bool with_model = !options.all || has_model(checkpoint);
  ExportFolder target(folder, checkpoint.folder(), base_folder_of(checkpoint));
  if (with_model) {
    export_model(checkpoint, target.work(), options);
  }
  if (options.all) {
    export_state(checkpoint, target.work() / kState, options, with_model);
  }
  target.publish();
}

}  // namespace sherd::weights
