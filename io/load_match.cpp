#include "io/load_match.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kShown = 5;

std::string kind(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", to_string(dtype), shape.to_string());
}

class Matcher {
 public:
  Matcher(const Manifest& manifest, const LoadOptions& options, LoadReport& report)
      : manifest_(manifest), options_(options), report_(report) {
    for (const TensorRecord& tensor : manifest.tensors) {
      by_name_[tensor.key] = &tensor;
      for (const std::string& alias : tensor.aliases) {
        by_name_[alias] = &tensor;
      }
    }
  }

  std::vector<MatchedTensor> run(const dtensor::StateDict& state) {
    std::size_t number = 0;
    for (const auto& [key, tensor] : state.tensors) {
      if (selected(options_, key)) {
        match(number, key, tensor.spec);
      }
      ++number;
    }
    for (const TensorRecord& tensor : manifest_.tensors) {
      if (used_.count(&tensor) == 0 && wanted_by_any_name(tensor)) {
        report_.unexpected.push_back(tensor.key);
        if (options_.strict) {
          problems_.push_back(fmt::format("its '{}' is not wanted here", tensor.key));
        }
      }
    }
    return std::move(matches_);
  }

  std::vector<std::string> problems() { return std::move(problems_); }

 private:
  void match(std::size_t number, const std::string& key, const dtensor::ShardSpec& spec) {
    const auto found = by_name_.find(key);
    if (found == by_name_.end()) {
      report_.missing.push_back(key);
      if (options_.strict) {
        problems_.push_back(fmt::format("'{}' is not in it", key));
      }
      return;
    }
    const TensorRecord& record = *found->second;
    used_.insert(&record);
    if (fits(key, record, spec)) {
      matches_.push_back({number, &record});
    }
  }

  bool fits(const std::string& key, const TensorRecord& record, const dtensor::ShardSpec& spec) {
    const TensorMismatch pair{key, kind(record.dtype, record.shape),
                              kind(spec.dtype, spec.global_shape)};
    if (record.shape != spec.global_shape) {
      report_.mismatched.push_back(pair);
      if (options_.strict) {
        problems_.push_back(fmt::format("'{}' has shape {} there and {} here", key,
                                        record.shape.to_string(), spec.global_shape.to_string()));
      }
      return false;
    }
    if (record.dtype == spec.dtype) {
      return true;
    }
    if (!options_.allow_cast || !is_floating(record.dtype) || !is_floating(spec.dtype)) {
      problems_.push_back(fmt::format("'{}' is {} there and {} here", key, to_string(record.dtype),
                                      to_string(spec.dtype)));
      return false;
    }
    report_.cast.push_back(pair);
    return true;
  }

  bool wanted_by_any_name(const TensorRecord& tensor) const {
    return selected(options_, tensor.key) ||
           std::any_of(tensor.aliases.begin(), tensor.aliases.end(),
                       [&](const std::string& alias) { return selected(options_, alias); });
  }

  const Manifest& manifest_;
  const LoadOptions& options_;
  LoadReport& report_;
  std::map<std::string_view, const TensorRecord*> by_name_;
  std::set<const TensorRecord*> used_;
  std::vector<MatchedTensor> matches_;
  std::vector<std::string> problems_;
};

void note_differences(LoadReport& report) {
  const auto note = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) {
      report.notes.push_back(fmt::format("{}: {}", what, first_few(names)));
    }
  };
  std::vector<std::string> reshaped;
  for (const TensorMismatch& pair : report.mismatched) {
    reshaped.push_back(fmt::format("'{}' ({} there, {} here)", pair.key, pair.stored, pair.wanted));
  }
  std::vector<std::string> cast;
  for (const TensorMismatch& pair : report.cast) {
    cast.push_back(fmt::format("'{}' ({} there, {} here)", pair.key, pair.stored, pair.wanted));
  }
  note("not in the checkpoint, left as they were", report.missing);
  note("of another shape in the checkpoint, left as they were", reshaped);
  note("in the checkpoint but not wanted", report.unexpected);
  note("converted", cast);
}

}  // namespace

std::string first_few(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kShown);
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format(
      "{}{}", fmt::join(first, ", "),
      names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : std::string());
}

void refuse_model(std::vector<std::string> problems, const std::filesystem::path& folder) {
  const std::size_t count = problems.size();
  problems.resize(std::min(count, kShown));
  throw ConfigError(fmt::format(
      "'{}' is a checkpoint of another model: {}{}. Try: another checkpoint directory, or the "
      "configuration it was saved with",
      folder.string(), fmt::join(problems, "; "),
      count > kShown ? fmt::format("; and {} more differences", count - kShown) : ""));
}

const TensorRecord* find_tensor(const Manifest& manifest, std::string_view key) {
  for (const TensorRecord& tensor : manifest.tensors) {
    if (tensor.key == key ||
        std::find(tensor.aliases.begin(), tensor.aliases.end(), key) != tensor.aliases.end()) {
      return &tensor;
    }
  }
  return nullptr;
}

std::vector<MatchedTensor> match_tensors(const Manifest& manifest, const dtensor::StateDict& state,
                                         const LoadOptions& options,
                                         const std::filesystem::path& folder, LoadReport& report) {
  Matcher matcher(manifest, options, report);
  std::vector<MatchedTensor> matches = matcher.run(state);
  std::vector<std::string> problems = matcher.problems();
  if (problems.empty() && matches.empty() && !state.tensors.empty() &&
      !(report.missing.empty() && report.mismatched.empty())) {
    problems.push_back("none of the state's tensors is in it");
  }
  if (!problems.empty()) {
    refuse_model(std::move(problems), folder);
  }
  note_differences(report);
  return matches;
}

}  // namespace sherd::io
