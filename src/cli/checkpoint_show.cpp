#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_commands.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/printable.hpp"
#include "sherd/io/compare.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::cli {
namespace {

using Json = nlohmann::json;

double bytes_of(const io::TensorInfo& info) {
  return static_cast<double>(info.shape.numel()) * static_cast<double>(size_of(info.dtype));
}

/// How a tensor was cut: "replicated", "whole", "4 ranges", "8 blocks".
std::string placement(const io::TensorInfo& info) {
  if (info.placement == dtensor::Placement::replicated) {
    return "replicated";
  }
  if (info.pieces.size() <= 1) {
    return "whole";
  }
  return fmt::format("{} {}", info.pieces.size(), info.pieces[0].block ? "blocks" : "ranges");
}

Json json_of(const io::PieceInfo& piece, const std::vector<io::FileInfo>& files) {
  Json json = {{"rank", piece.rank},
               {"file", files.at(piece.file).name},
               {"file_offset", piece.file_offset},
               {"numel", piece.numel}};
  if (piece.block) {
    json["start"] = piece.block->start;
    json["count"] = piece.block->count;
  } else {
    json["first"] = piece.first;
  }
  return json;
}

Json json_of(const io::TensorInfo& info) {
  return {{"key", info.key},
          {"dtype", std::string(to_string(info.dtype))},
          {"shape", info.shape.extents()},
          {"bytes", bytes_of(info)},
          {"placement", placement(info)},
          {"requires_grad", info.requires_grad},
          {"aliases", info.aliases}};
}

/// Bytes a second from the beginning of the save until durable, in GB/s.
double rate(const io::RankTimes& times) {
  return times.durable > 0 ? static_cast<double>(times.bytes) * 1e-9 / times.durable : 0.0;
}

Json json_of(const io::RankTimes& times) {
  return {{"rank", times.rank},       {"bytes", times.bytes},
          {"stall", times.stall},     {"staged", times.staged},
          {"written", times.written}, {"durable", times.durable},
          {"copying", times.copying}, {"gigabytes_per_second", rate(times)}};
}

template <class T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) {
    list.push_back(json_of(item));
  }
  return list;
}

struct PerRank {
  int ranks = 0;
  std::uint64_t bytes = 0;
};

/// per_rank entries by key.
std::map<std::string, PerRank> per_rank_of(const io::CheckpointReader& checkpoint) {
  std::map<std::string, PerRank> entries;
  for (const io::PerRankInfo& info : checkpoint.per_rank()) {
    PerRank& entry = entries[info.key];
    entry.ranks += 1;
    entry.bytes += info.bytes;
  }
  return entries;
}

void print_json(const io::CheckpointReader& checkpoint) {
  Json files = Json::array();
  for (const io::FileInfo& file : checkpoint.files()) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  }
  Json per_rank = Json::array();
  for (const auto& [key, entry] : per_rank_of(checkpoint)) {
    per_rank.push_back({{"key", key}, {"ranks", entry.ranks}, {"bytes", entry.bytes}});
  }
  print(Json{{"path", checkpoint.folder().string()},
             {"step", checkpoint.step()},
             {"ranks", checkpoint.world_size()},
             {"uuid", checkpoint.uuid()},
             {"tensors", list_of(checkpoint.tensors())},
             {"per_rank", std::move(per_rank)},
             {"texts", checkpoint.common_keys()},
             {"files", std::move(files)},
             {"timing", list_of(checkpoint.timing())}});
}

void print_tensors(const io::CheckpointReader& checkpoint) {
  std::size_t width = 4;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    width = std::max(width, printable_name(info.key).size());
  }
  double bytes = 0;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    std::string aliases;
    for (const std::string& alias : info.aliases) {
      aliases += " = " + printable_name(alias);
    }
    print(fmt::format("  {:<{}}  {:<4}  {}  {}{}\n", printable_name(info.key), width,
                      to_string(info.dtype), info.shape.to_string(), placement(info), aliases));
    bytes += bytes_of(info);
  }
  print(fmt::format("{} tensors, {}\n", checkpoint.tensors().size(), human(bytes)));
}

void print_files(const io::CheckpointReader& checkpoint) {
  for (const auto& [key, entry] : per_rank_of(checkpoint)) {
    print(fmt::format("per rank: {} of {} ranks, {}\n", printable_name(key), entry.ranks,
                      human(static_cast<double>(entry.bytes))));
  }
  if (!checkpoint.common_keys().empty()) {
    print(fmt::format("texts: {}\n", fmt::join(checkpoint.common_keys(), ", ")));
  }
  for (const io::FileInfo& file : checkpoint.files()) {
    print(fmt::format("{:>10}  {}\n", human(static_cast<double>(file.bytes)),
                      printable_name(file.name)));
  }
}

/// All ranks of a small launch, the slowest of a large one.
void print_timing(const io::CheckpointReader& checkpoint) {
  constexpr std::size_t kShown = 16;
  std::vector<io::RankTimes> times = checkpoint.timing();
  const std::size_t all = times.size();
  if (all > kShown) {
    std::sort(times.begin(), times.end(),
              [](const auto& a, const auto& b) { return a.durable > b.durable; });
    times.resize(kShown);
  }
  if (times.empty()) {
    return;
  }
  print(
      fmt::format("seconds after the save began{}\n{:>6}  {:>10}  {:>8}  {:>8}  {:>8}  {:>8}  "
                  "{:>8}  {:>6}\n",
                  all > kShown ? fmt::format(" (the {} slowest of {} ranks)", kShown, all) : "",
                  "rank", "bytes", "stall", "staged", "written", "durable", "copying", "GB/s"));
  for (const io::RankTimes& rank : times) {
    print(fmt::format("{:>6}  {:>10}  {:>8.3f}  {:>8.3f}  {:>8.3f}  {:>8.3f}  {:>8.3f}  {:>6.2f}\n",
                      rank.rank, human(static_cast<double>(rank.bytes)), rank.stall, rank.staged,
                      rank.written, rank.durable, rank.copying, rate(rank)));
  }
}

std::string where(const io::PieceInfo& piece) {
  return piece.block ? fmt::format("[{}] + [{}]", fmt::join(piece.block->start, ", "),
                                   fmt::join(piece.block->count, ", "))
                     : fmt::format("{} + {}", piece.first, piece.numel);
}

int show_tensor(const io::CheckpointReader& checkpoint, const Request& request) {
  const std::string& key = request.ckpt.tensor;
  const io::TensorInfo* info = checkpoint.find(key);
  validate(info != nullptr,
           fmt::format("'{}' has no tensor '{}'. Try: sherd ckpt show without --tensor",
                       checkpoint.folder().string(), key));
  const io::TensorStatistics numbers = io::tensor_statistics(checkpoint, key);
  const std::vector<io::FileInfo> files = checkpoint.files();
  if (request.ckpt.json) {
    Json json = json_of(*info);
    json["pieces"] = Json::array();
    for (const io::PieceInfo& piece : info->pieces) {
      json["pieces"].push_back(json_of(piece, files));
    }
    const bool finite = numbers.numel > numbers.nan + numbers.infinite;
    json["min"] = finite ? Json(numbers.min) : Json();
    json["max"] = finite ? Json(numbers.max) : Json();
    json["mean"] = finite ? Json(numbers.mean) : Json();
    json["nan"] = numbers.nan;
    json["infinite"] = numbers.infinite;
    print(json);
    return 0;
  }
  print(fmt::format("{}  {}  {}  {}\n", printable_name(info->key), to_string(info->dtype),
                    info->shape.to_string(), placement(*info)));
  print(fmt::format("min {:.9g}, max {:.9g}, mean {:.9g}; {} NaN, {} infinite\n", numbers.min,
                    numbers.max, numbers.mean, numbers.nan, numbers.infinite));
  print(fmt::format("{:>6}  {:>14}  {:<24}  {}\n", "rank", "file offset", "elements", "file"));
  for (const io::PieceInfo& piece : info->pieces) {
    print(fmt::format("{:>6}  {:>14}  {:<24}  {}\n", piece.rank, piece.file_offset, where(piece),
                      printable_name(files.at(piece.file).name)));
  }
  return 0;
}

}  // namespace

int show_checkpoint(const Request& request) {
  const io::CheckpointReader checkpoint(step_folder(request.checkpoint), {request.ckpt.verify});
  if (!request.ckpt.tensor.empty()) {
    return show_tensor(checkpoint, request);
  }
  if (request.ckpt.json) {
    print_json(checkpoint);
    return 0;
  }
  print(fmt::format("{}\nstep {}, written by {} rank{}\n", checkpoint.folder().string(),
                    checkpoint.step(), checkpoint.world_size(),
                    checkpoint.world_size() == 1 ? "" : "s"));
  print_tensors(checkpoint);
  print_files(checkpoint);
  print_timing(checkpoint);
  return 0;
}

}  // namespace sherd::cli
