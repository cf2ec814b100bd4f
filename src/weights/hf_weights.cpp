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

/// What is wrong with the weights, one text each.
using Problems = std::vector<std::string>;
using Entries = std::map<std::string, io::SafetensorsEntry>;

std::string in_file(const io::SafetensorsEntry& entry) {
  return fmt::format("{}: tensor '{}'", entry.file.filename().string(), entry.name);
}

/// Names in the files that need not be parameters of the model.
bool is_ignored(const std::string& name, const models::ModelSpec& model) {
  const auto tied = model.family().hf_tied(model.sizes());
  const auto& endings = model.family().hf_ignored_endings;
  return (tied && name == tied->name) ||
         std::any_of(endings.begin(), endings.end(),
                     [&](const std::string& end) { return ends_with(name, end); });
}

/// The differences between `wanted` and the files.
Problems compare(const std::map<std::string, Shape>& wanted, const Entries& found,
                 const models::ModelSpec& model) {
  Problems problems;
  for (const auto& [name, shape] : wanted) {
    const auto entry = found.find(name);
    if (entry == found.end()) {
      problems.push_back(fmt::format("tensor '{}' is missing", name));
    } else if (entry->second.shape != shape) {
      problems.push_back(fmt::format("{} has shape {}, config.json says {}", in_file(entry->second),
                                     entry->second.shape.to_string(), shape.to_string()));
    }
  }
  for (const auto& [name, entry] : found) {
    if (wanted.count(name) == 0 && !is_ignored(name, model)) {
      problems.push_back(fmt::format("{} is not part of the model", in_file(entry)));
    }
  }
  return problems;
}

/// Quantised weights have other shapes and more tensors besides: their type alone is worth a word.
void refuse_quantised(const std::map<std::string, Shape>& wanted, const Entries& found) {
  std::size_t count = 0;
  const io::SafetensorsEntry* first = nullptr;
  for (const auto& [name, entry] : found) {
    const bool computes = entry.foreign_type.empty() && is_floating(entry.dtype);
    if (wanted.count(name) != 0 && !computes) {
      first = first == nullptr ? &entry : first;
      ++count;
    }
  }
  if (first == nullptr) {
    return;
  }
  const std::string_view type =
      first->foreign_type.empty() ? to_string(first->dtype) : std::string_view(first->foreign_type);
  throw ConfigError(fmt::format(
      "{}: tensor '{}' is of type {}{} (a quantised model: this program reads weights in F64, F32, "
      "F16 and BF16). Try: the model's bf16 version, or its weights dequantised",
      first->file.string(), first->name, type,
      count == 1 ? "" : fmt::format(", and {} more are of such types", count - 1)));
}

/// A tied tensor that is stored must be what it is tied to.
void check_tied(const io::SafetensorsReader& reader, const models::TiedTensors& tied,
                Problems& problems) {
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
        fmt::format("{} differs from {}, although config.json says tie_word_embeddings",
                    in_file(head->second), tied.same_as));
  }
}

/// The first few of them: a folder of another model differs in every tensor.
std::string told(const Problems& problems) {
  constexpr std::size_t kMost = 20;
  if (problems.size() <= kMost) {
    return fmt::format("{}", fmt::join(problems, "; "));
  }
  return fmt::format("{}; and {} more", fmt::join(problems.begin(), problems.begin() + kMost, "; "),
                     problems.size() - kMost);
}

}  // namespace

HfWeights::HfWeights(const std::filesystem::path& folder, const models::ModelSpec& model)
    : reader_(folder), hf_name_(model.family().hf_name) {
  const auto wanted = wanted_tensors(model);
  refuse_quantised(wanted, reader_.entries());
  Problems problems = compare(wanted, reader_.entries(), model);
  const auto tied = model.family().hf_tied(model.sizes());
  if (problems.empty() && tied) {
    check_tied(reader_, *tied, problems);
  }
  if (!problems.empty()) {
    throw ConfigError(fmt::format(
        "{}: the weights do not fit config.json: {}. Try: files and config.json of the same model",
        folder.string(), told(problems)));
  }
}

void HfWeights::fill(const std::string& name, std::int64_t first, const Tensor& out) const {
  reader_.read(hf_name_(name), first, out);
}

}  // namespace sherd::weights
