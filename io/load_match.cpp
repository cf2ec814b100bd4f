#include "io/load_match.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kShown = 5;

std::string difference(const TensorRecord& stored, const dtensor::ShardSpec& wanted,
                       const std::string& key) {
  if (stored.shape != wanted.global_shape) {
    return fmt::format("'{}' has shape {} there and {} here", key, stored.shape.to_string(),
                       wanted.global_shape.to_string());
  }
  if (stored.dtype != wanted.dtype) {
    return fmt::format("'{}' is {} there and {} here", key, to_string(stored.dtype),
                       to_string(wanted.dtype));
  }
  return {};
}

[[noreturn]] void refuse(std::vector<std::string> problems, const std::filesystem::path& folder) {
  const std::size_t count = problems.size();
  problems.resize(std::min(count, kShown));
  throw ConfigError(fmt::format(
      "'{}' is a checkpoint of another model: {}{}. Try: another checkpoint directory, or the "
      "configuration it was saved with",
      folder.string(), fmt::join(problems, "; "),
      count > kShown ? fmt::format("; and {} more differences", count - kShown) : ""));
}

}  // namespace

const TensorRecord* find_tensor(const Manifest& manifest, std::string_view key) {
  for (const TensorRecord& tensor : manifest.tensors) {
    if (tensor.key == key ||
        std::find(tensor.aliases.begin(), tensor.aliases.end(), key) != tensor.aliases.end()) {
      return &tensor;
    }
  }
  return nullptr;
}

std::vector<const TensorRecord*> match_tensors(const Manifest& manifest,
                                               const dtensor::StateDict& state,
                                               const std::filesystem::path& folder) {
  std::map<std::string_view, const TensorRecord*> by_name;
  for (const TensorRecord& tensor : manifest.tensors) {
    by_name[tensor.key] = &tensor;
    for (const std::string& alias : tensor.aliases) {
      by_name[alias] = &tensor;
    }
  }
  std::vector<const TensorRecord*> matched;
  std::set<const TensorRecord*> used;
  std::vector<std::string> problems;
  for (const auto& [key, tensor] : state.tensors) {
    const auto found = by_name.find(key);
    if (found == by_name.end()) {
      problems.push_back(fmt::format("'{}' is not in it", key));
      continue;
    }
    if (std::string text = difference(*found->second, tensor.spec, key); !text.empty()) {
      problems.push_back(std::move(text));
    }
    matched.push_back(found->second);
    used.insert(found->second);
  }
  for (const TensorRecord& tensor : manifest.tensors) {
    if (used.count(&tensor) == 0) {
      problems.push_back(fmt::format("its '{}' is not wanted here", tensor.key));
    }
  }
  if (!problems.empty()) {
    refuse(std::move(problems), folder);
  }
  return matched;
}

}  // namespace sherd::io
