// Names of two sides compared, with a guess at what somebody meant.
#include "io/load/name_match.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sherd::io {
namespace {

std::string kind(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", to_string(dtype), shape.to_string());
}

class Matcher {
 public:
  Matcher(const std::vector<StoredTensor>& stored, const LoadOptions& options, LoadReport& report)
      : stored_(stored), options_(options), report_(report) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      by_name_[stored[i].key] = i;
      for (const std::string& alias : stored[i].aliases) {
        by_name_[alias] = i;
      }
    }
  }

  NameMatch run(const dtensor::StateDict& state) {
    std::size_t number = 0;
    for (const auto& [key, tensor] : state.tensors) {
      if (selected(options_, key)) {
        match(number, key, tensor.spec);
      }
      ++number;
    }
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      if (used_.count(i) == 0 && wanted_by_any_name(stored_[i])) {
        report_.unexpected.push_back(stored_[i].key);
        unless_loose(fmt::format("its '{}' is not wanted here", stored_[i].key));
      }
    }
    return std::move(result_);
  }

 private:
  void match(std::size_t number, const std::string& key, const dtensor::ShardSpec& spec) {
    const auto found = find(key, spec);
    if (found == by_name_.end()) {
      report_.missing.push_back(key);
      unless_loose(fmt::format("'{}' is not in it", key));
      return;
    }
    used_.insert(found->second);
    if (fits(key, stored_[found->second], spec)) {
      result_.pairs.push_back({number, found->second});
    }
  }

  /// By the key, else by another name of a tied tensor.
  std::map<std::string, std::size_t>::const_iterator find(const std::string& key,
                                                          const dtensor::ShardSpec& spec) const {
    const std::string top = key.substr(0, key.find('.') + 1);
    auto found = by_name_.find(key);
    for (std::size_t i = 0; found == by_name_.end() && i < spec.aliases.size(); ++i) {
      found = by_name_.find(top + spec.aliases[i]);
    }
    return found;
  }

  bool fits(const std::string& key, const StoredTensor& stored, const dtensor::ShardSpec& spec) {
    const TensorMismatch pair{key, kind(stored.dtype, stored.shape),
                              kind(spec.dtype, spec.global_shape)};
    if (stored.shape != spec.global_shape) {
      report_.mismatched.push_back(pair);
      unless_loose(fmt::format("'{}' has shape {} there and {} here", key, stored.shape.to_string(),
                               spec.global_shape.to_string()));
      return false;
    }
    if (stored.dtype == spec.dtype) {
      return true;
    }
    if (!options_.allow_cast || !is_floating(stored.dtype) || !is_floating(spec.dtype)) {
      result_.problems.push_back(fmt::format("'{}' is {} there and {} here", key,
                                             to_string(stored.dtype), to_string(spec.dtype)));
      return false;
    }
    report_.cast.push_back(pair);
    return true;
  }

  void unless_loose(std::string problem) {
    if (options_.strict) {
      result_.problems.push_back(std::move(problem));
    }
  }

  bool wanted_by_any_name(const StoredTensor& tensor) const {
    return selected(options_, tensor.key) ||
           std::any_of(tensor.aliases.begin(), tensor.aliases.end(),
                       [&](const std::string& alias) { return selected(options_, alias); });
  }

  const std::vector<StoredTensor>& stored_;
  const LoadOptions& options_;
  LoadReport& report_;
  std::map<std::string, std::size_t> by_name_;
  std::set<std::size_t> used_;
  NameMatch result_;
};

}  // namespace

NameMatch match_names(const std::vector<StoredTensor>& stored, const dtensor::StateDict& state,
                      const LoadOptions& options, LoadReport& report) {
  return Matcher(stored, options, report).run(state);
}

std::string first_few(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMostShown);
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format(
      "{}{}", fmt::join(first, ", "),
      names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : std::string());
}

}  // namespace sherd::io
