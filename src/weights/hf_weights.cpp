#include "sherd/weights/hf_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::weights {
namespace {

constexpr std::string_view kHead = "lm_head.weight";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Every tensor a folder must hold: Hugging Face name -> shape.
std::map<std::string, Shape> wanted_tensors(const models::LlamaConfig& config) {
  const models::Llama model(config);
  std::map<std::string, Shape> wanted;
  for (const nn::NamedParameter& named : nn::named_parameters(model)) {
    wanted.emplace(hf_name(named.name), named.value.shape());
  }
  return wanted;
}

/// The shape differences between `wanted` and the files, one text each.
std::vector<std::string> compare(const std::map<std::string, Shape>& wanted,
                                 const std::map<std::string, io::SafetensorsEntry>& found,
                                 bool tied) {
  std::vector<std::string> problems;
  for (const auto& [name, shape] : wanted) {
    const auto entry = found.find(name);
    if (entry == found.end()) {
      problems.push_back(fmt::format("tensor '{}' is missing", name));
    } else if (entry->second.shape != shape) {
      problems.push_back(fmt::format("tensor '{}' has shape {}, config.json says {}", name,
                                     entry->second.shape.to_string(), shape.to_string()));
    } else if (!is_floating(entry->second.dtype)) {
      problems.push_back(fmt::format("tensor '{}' has dtype {}, which is no floating type", name,
                                     to_string(entry->second.dtype)));
    }
  }
  for (const auto& [name, entry] : found) {
    const bool tied_head = tied && name == kHead;
    if (wanted.count(name) == 0 && !tied_head && !ends_with(name, "rotary_emb.inv_freq")) {
      problems.push_back(fmt::format("tensor '{}' is not part of the model", name));
    }
  }
  return problems;
}

/// A tied head that is stored must be what it is tied to.
void check_tied_head(const io::SafetensorsReader& reader, std::vector<std::string>& problems) {
  constexpr std::int64_t kChunk = 1 << 20;
  const auto& entries = reader.entries();
  const auto head = entries.find(std::string(kHead));
  const auto table = entries.find("model.embed_tokens.weight");
  if (head == entries.end() || table == entries.end()) {
    return;
  }
  bool equal = head->second.shape == table->second.shape;
  for (std::int64_t first = 0; equal && first < head->second.shape.numel(); first += kChunk) {
    const Shape part{std::min(kChunk, head->second.shape.numel() - first)};
    const Tensor a = Tensor::empty(part, DType::f32);
    const Tensor b = Tensor::empty(part, DType::f32);
    reader.read(head->first, first, a);
    reader.read(table->first, first, b);
    equal = std::equal(a.data<float>(), a.data<float>() + a.numel(), b.data<float>());
  }
  if (!equal) {
    problems.push_back(
        fmt::format("tensor '{}' differs from model.embed_tokens.weight, although "
                    "config.json says tie_word_embeddings",
                    kHead));
  }
}

}  // namespace

std::string hf_name(std::string_view parameter) {
  const bool head = parameter.rfind("lm_head.", 0) == 0;
  return std::string(head ? "" : "model.").append(parameter);
}

HfWeights::HfWeights(const std::filesystem::path& folder, const models::LlamaConfig& config)
    : reader_(folder) {
  auto problems = compare(wanted_tensors(config), reader_.entries(), config.tie_word_embeddings);
  if (problems.empty() && config.tie_word_embeddings) {
    check_tied_head(reader_, problems);
  }
  if (!problems.empty()) {
    throw ConfigError(fmt::format(
        "{}: the weights do not fit config.json: {}. Try: files and config.json of the same model",
        folder.string(), fmt::join(problems, "; ")));
  }
}

void HfWeights::fill(const std::string& name, std::int64_t first, const Tensor& out) const {
  reader_.read(hf_name(name), first, out);
}

}  // namespace sherd::weights
