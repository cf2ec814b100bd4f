#include "io/whole_load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "io/positioned_reader.hpp"
#include "io/region.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::int64_t kCastElements = std::int64_t{1} << 20;

std::string kind(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", to_string(dtype), shape.to_string());
}

class Matcher {
 public:
  Matcher(const WholeFile& whole, const LoadOptions& options, LoadReport& report)
      : whole_(whole), options_(options), report_(report) {
    for (const WholeTensor& tensor : whole.tensors) {
      by_name_.emplace(tensor.key, &tensor);
      for (const std::string& alias : tensor.aliases) {
        by_name_.emplace(alias, &tensor);
      }
    }
  }

  std::vector<WholeMatch> run(dtensor::StateDict& state) {
    std::vector<WholeMatch> matches;
    for (auto& [key, tensor] : state.tensors) {
      if (!options_.select || options_.select(key)) {
        match(key, tensor, matches);
      }
    }
    for (const WholeTensor& tensor : whole_.tensors) {
      if (used_.count(&tensor) == 0 && (!options_.select || options_.select(tensor.key))) {
        report_.unexpected.push_back(tensor.key);
      }
    }
    return matches;
  }

  /// What the options do not allow; after run().
  std::vector<std::string> differences() const {
    std::vector<std::string> lines;
    const auto add = [&](const std::vector<TensorMismatch>& pairs) {
      for (const TensorMismatch& pair : pairs) {
        lines.push_back(
            fmt::format("'{}' is {} there, {} here", pair.key, pair.stored, pair.wanted));
      }
    };
    add(other_dtypes_);
    if (options_.strict) {
      add(report_.mismatched);
      for (const std::string& key : report_.missing) {
        lines.push_back(fmt::format("'{}' is not there", key));
      }
      for (const std::string& key : report_.unexpected) {
        lines.push_back(fmt::format("'{}' is not here", key));
      }
    }
    return lines;
  }

 private:
  void match(const std::string& key, dtensor::DTensor& tensor, std::vector<WholeMatch>& matches) {
    const WholeTensor* stored = find(key, tensor.spec);
    if (stored == nullptr) {
      report_.missing.push_back(key);
      return;
    }
    used_.insert(stored);
    const dtensor::ShardSpec& spec = tensor.spec;
    const TensorMismatch pair{key, kind(stored->dtype, stored->shape),
                              kind(spec.dtype, spec.global_shape)};
    const bool castable =
        options_.allow_cast && is_floating(stored->dtype) && is_floating(spec.dtype);
    if (stored->shape != spec.global_shape) {
      report_.mismatched.push_back(pair);
      return;
    }
    if (stored->dtype != spec.dtype && !castable) {
      other_dtypes_.push_back(pair);
      return;
    }
    if (stored->dtype != spec.dtype) {
      report_.cast.push_back(pair);
    }
    matches.push_back({stored, &tensor});
  }

  const WholeTensor* find(const std::string& key, const dtensor::ShardSpec& spec) const {
    const std::string top = key.substr(0, key.find('.') + 1);
    auto found = by_name_.find(key);
    for (std::size_t i = 0; found == by_name_.end() && i < spec.aliases.size(); ++i) {
      found = by_name_.find(top + spec.aliases[i]);
    }
    return found == by_name_.end() ? nullptr : found->second;
  }

  const WholeFile& whole_;
  const LoadOptions& options_;
  LoadReport& report_;
  std::map<std::string, const WholeTensor*> by_name_;
  std::set<const WholeTensor*> used_;
  std::vector<TensorMismatch> other_dtypes_;
};

void read_cast(const PositionedReader& reader, const WholeTensor& stored, const CopyRun& run,
               const Tensor& local) {
  const Tensor chunk = Tensor::empty({std::min(run.numel, kCastElements)}, stored.dtype);
  for (std::int64_t done = 0; done < run.numel; done += chunk.numel()) {
    const Tensor part = chunk.slice(0, std::min(chunk.numel(), run.numel - done));
    reader.read(
        stored.file_offset + static_cast<std::uint64_t>(run.from + done) * size_of(stored.dtype),
        {part.raw(), part.nbytes()});
    convert(part, local.slice(run.to + done, part.numel()));
  }
}

/// Returns the bytes read.
std::int64_t read_tensor(const PositionedReader& reader, const WholeMatch& match) {
  const WholeTensor& stored = *match.stored;
  const dtensor::ShardSpec& spec = match.tensor->spec;
  if (spec.numel == 0) {
    return 0;
  }
  const Tensor& local = match.tensor->local;
  const auto width = static_cast<std::int64_t>(size_of(stored.dtype));
  const dtensor::FlatRange all{0, stored.shape.numel()};
  for_each_run(stored.shape.extents(), {all}, all, {dtensor::range_of(spec), spec.block},
               [&](const CopyRun& run) {
                 if (stored.dtype != spec.dtype) {
                   read_cast(reader, stored, run, local);
                   return;
                 }
                 reader.read(
                     stored.file_offset + static_cast<std::uint64_t>(run.from * width),
                     {local.raw() + run.to * width, static_cast<std::size_t>(run.numel * width)});
               });
  return spec.numel * width;
}

}  // namespace

std::vector<WholeMatch> match_whole(const WholeFile& whole, dtensor::StateDict& state,
                                    const LoadOptions& options, const std::filesystem::path& file,
                                    LoadReport& report) {
  Matcher matcher(whole, options, report);
  auto matches = matcher.run(state);
  const std::vector<std::string> lines = matcher.differences();
  if (!lines.empty()) {
    constexpr std::size_t kShown = 5;
    const auto shown = std::vector(
        lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, lines.size())));
    throw ConfigError(fmt::format(
        "'{}' is the state of another model: {}{}", file.string(), fmt::join(shown, "; "),
        lines.size() > kShown ? fmt::format(" and {} more differences", lines.size() - kShown)
                              : ""));
  }
  return matches;
}

std::int64_t read_whole(const std::filesystem::path& file, const std::vector<WholeMatch>& matches) {
  const PositionedReader reader(file);
  std::int64_t bytes = 0;
  for (const WholeMatch& match : matches) {
    bytes += read_tensor(reader, match);
  }
  return bytes;
}

}  // namespace sherd::io
