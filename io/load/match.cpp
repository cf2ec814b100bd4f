// Which stored tensor each tensor of a state is loaded from.
#include "io/load/match.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

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

void refuse_model(std::vector<std::string> problems, const std::filesystem::path& folder) {
  const std::size_t count = problems.size();
  problems.resize(std::min(count, kMostShown));
  throw ConfigError(fmt::format(
      "'{}' is a checkpoint of another model: {}{}. Try: another checkpoint directory, or the "
      "configuration it was saved with",
      folder.string(), fmt::join(problems, "; "),
      count > kMostShown ? fmt::format("; and {} more differences", count - kMostShown) : ""));
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
  std::vector<StoredTensor> stored;
  for (const TensorRecord& tensor : manifest.tensors) {
    stored.push_back({tensor.key, tensor.aliases, tensor.shape, tensor.dtype});
  }
  NameMatch match = match_names(stored, state, options, report);
  std::vector<MatchedTensor> matches;
  for (const NameMatch::Pair& pair : match.pairs) {
    matches.push_back({pair.tensor, &manifest.tensors[pair.stored]});
  }
  std::vector<std::string>& problems = match.problems;
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
