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

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Every tensor a folder must hold: Hugging Face name -> shape.
std::map<std::string, Shape> wanted_tensors(const models::ModelSpec& model) {
  const auto module = model.make();
  std::map<std::string, Shape> wanted;
  for (const nn::NamedParameter& named : nn::named_parameters(*module)) {
    wanted.emplace(model.family().hf_name(named.name), named.value.shape());
  }
  return wanted;
}

/// The shape differences between `wanted` and the files, one text each.
std::vector<std::string> compare(const std::map<std::string, Shape>& wanted,
                                 const std::map<std::string, io::SafetensorsEntry>& found,
                                 const models::ModelSpec& model) {
  const auto tied = model.family().hf_tied(model.sizes());
  const auto& ignored = model.family().hf_ignored_endings;
  const auto is_ignored = [&](const std::string& name) {
    return (tied && name == tied->name) ||
           std::any_of(ignored.begin(), ignored.end(),
                       [&](const std::string& end) { return ends_with(name, end); });
  };
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
    if (wanted.count(name) == 0 && !is_ignored(name)) {
      problems.push_back(fmt::format("tensor '{}' is not part of the model", name));
    }
  }
  return problems;
}

/// A tied tensor that is stored must be what it is tied to.
void check_tied(const io::SafetensorsReader& reader, const models::TiedTensors& tied,
                std::vector<std::string>& problems) {
  constexpr std::int64_t kChunk = 1 << 20;
  const auto& entries = reader.entries();
  const auto head = entries.find(tied.name);
  const auto table = entries.find(tied.same_as);
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
        fmt::format("tensor '{}' differs from {}, although config.json says tie_word_embeddings",
                    tied.name, tied.same_as));
  }
}

}  // namespace

HfWeights::HfWeights(const std::filesystem::path& folder, const models::ModelSpec& model)
    : reader_(folder), hf_name_(model.family().hf_name) {
  auto problems = compare(wanted_tensors(model), reader_.entries(), model);
  const auto tied = model.family().hf_tied(model.sizes());
  if (problems.empty() && tied) {
    check_tied(reader_, *tied, problems);
  }
  if (!problems.empty()) {
    throw ConfigError(fmt::format(
        "{}: the weights do not fit config.json: {}. Try: files and config.json of the same model",
        folder.string(), fmt::join(problems, "; ")));
  }
}

void HfWeights::fill(const std::string& name, std::int64_t first, const Tensor& out) const {
  reader_.read(hf_name_(name), first, out);
}

}  // namespace sherd::weights
