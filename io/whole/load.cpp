// From a whole state's file to each rank's part.
#include "io/whole/load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/disk/positioned_reader.hpp"
#include "io/layout/region.hpp"
#include "io/load/name_match.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::int64_t kCastElements = std::int64_t{1} << 20;

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
  std::vector<StoredTensor> stored;
  for (const WholeTensor& tensor : whole.tensors) {
    stored.push_back({tensor.key, tensor.aliases, tensor.shape, tensor.dtype});
  }
  const NameMatch match = match_names(stored, state, options, report);
  if (!match.problems.empty()) {
    throw ConfigError(fmt::format("'{}' is the state of another model: {}", file.string(),
                                  first_few(match.problems)));
  }
  std::vector<dtensor::DTensor*> tensors;
  for (auto& [key, tensor] : state.tensors) {
    tensors.push_back(&tensor);
  }
  std::vector<WholeMatch> matches;
  for (const NameMatch::Pair& pair : match.pairs) {
    matches.push_back({&whole.tensors[pair.stored], tensors[pair.tensor]});
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
