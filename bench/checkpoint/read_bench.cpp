#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/measure.hpp"
#include "io/disk/positioned_reader.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/runtime/runtime.hpp"

/// What loading a checkpoint costs, digests checked, next to bare direct reads of the same files by
/// the same ranks, taken in turns. One JSON line.
namespace {

namespace fs = std::filesystem;
using namespace sherd::bench;
using sherd::comm::Communicator;
using sherd::dtensor::FlatRange;

struct Options {
  std::string directory;
  StateSize size;
  int repetitions = 5;
  std::string cut = "same";
  bool verify = true;
};

/// Whether the page cache could be emptied.
bool drop_caches(Communicator& world) {
  double dropped = 0;
  world.barrier();
  if (world.rank() == 0) {
    ::sync();
    std::ofstream out("/proc/sys/vm/drop_caches");
    out << "3" << std::endl;
    dropped = out.good() ? 1 : 0;
  }
  return slowest(world, dropped) > 0;
}

FlatRange range_of(const std::string& cut, std::int64_t numel, const Communicator& world) {
  if (cut == "replicated") {
    return {0, numel};
  }
  if (cut == "shifted") {  // no piece is read by the rank that wrote it alone
    const std::int64_t first = numel / (2 * world.size());
    if (world.size() > 1) {
      return world.rank() == 0 ? FlatRange{0, first}
                               : sherd::dtensor::even_part({first, numel - first}, world.size() - 1,
                                                           world.rank() - 1);
    }
  }
  return sherd::dtensor::even_part({0, numel}, world.size(), world.rank());
}

/// Every rank reads its even part of each file, `threads` reads of 4 MiB at once.
double bare_read(Communicator& world, const fs::path& folder, std::size_t threads) {
  constexpr std::int64_t kStep = std::int64_t{4} << 20;
  std::vector<std::pair<fs::path, std::int64_t>> reads;
  for (const auto& entry : fs::directory_iterator(folder / "shards")) {
    const auto bytes = static_cast<std::int64_t>(entry.file_size());
    const FlatRange mine =
        sherd::dtensor::even_part({0, bytes / kStep}, world.size(), world.rank());
    for (std::int64_t i = mine.first; i < mine.end(); ++i) {
      reads.emplace_back(entry.path(), i * kStep);
    }
  }
  std::map<fs::path, sherd::io::PositionedReader> files;
  for (const auto& [path, at] : reads) {
    files.try_emplace(path, path);
  }
  world.barrier();
  const Clock::time_point start = Clock::now();
  {
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> readers;
    for (std::size_t t = 0; t < threads; ++t) {
      readers.emplace_back([&] {
        sherd::io::PageBuffer buffer(kStep);
        for (std::size_t i = next++; i < reads.size(); i = next++) {
          (void)files.at(reads[i].first)
              .read_direct(static_cast<std::uint64_t>(reads[i].second), kStep, buffer);
        }
      });
    }
  }
  return slowest(world, seconds_since(start));
}

struct Times {
  std::vector<double> load, one, four, cpu;
  std::uint64_t bytes = 0;
  bool cold = true;
};

void print(const Communicator& world, const Options& options, const Times& times) {
  const double gigabytes = static_cast<double>(options.size.mib) * world.size() * (1 << 20) * 1e-9;
  const double raw = std::min(median(times.one), median(times.four));
  fmt::print(
      "{{\"bench\":\"checkpoint_read\",\"ranks\":{},\"tensors\":{},\"cut\":\"{}\",\"verify\":{},"
      "\"page_cache\":\"{}\",\"bytes\":{:.0f},\"bytes_read\":{},\"load_s\":{:.4f},"
      "\"load_gbps\":{:.3f},\"load_cpu_s\":{:.3f},\"pread_1_gbps\":{:.3f},\"pread_4_gbps\":{:.3f},"
      "\"load_over_best_pread\":{:.3f}}}\n",
      world.size(), options.size.tensors, options.cut, options.verify, times.cold ? "cold" : "warm",
      gigabytes * 1e9, times.bytes, median(times.load), gigabytes / median(times.load),
      median(times.cpu), gigabytes / median(times.one), gigabytes / median(times.four),
      raw / median(times.load));
}

void run(const Options& options) {
  auto comms = sherd::comm::make_mesh_comms();
  Communicator& world = *comms.world;
  sherd::io::Checkpointer checkpointer(
      comms, {.directory = options.directory, .keep_last = 2, .overwrite = true});
  checkpointer.save_async(1, make_even_state(world, options.size)).wait();
  sherd::dtensor::StateDict state = make_state(
      world, options.size, [&](std::int64_t numel) { return range_of(options.cut, numel, world); });
  const fs::path folder = fs::path(options.directory) / "step-00000001";
  Times times;
  for (int i = 0; i < options.repetitions; ++i) {
    times.cold = drop_caches(world) && times.cold;
    times.one.push_back(bare_read(world, folder, 1));
    const double cpu = cpu_seconds(world);
    const Clock::time_point start = Clock::now();
    const auto report = checkpointer.load(folder, state, {.verify = options.verify});
    times.load.push_back(slowest(world, seconds_since(start)));
    times.cpu.push_back(cpu_seconds(world) - cpu);
    times.bytes = report.bytes_read;
    times.four.push_back(bare_read(world, folder, 4));
  }
  if (world.rank() == 0) {
    print(world, options, times);
  }
}

}  // namespace

int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  Options options;
  CLI::App app("Saves a sharded state and loads it again and again; prints one JSON line");
  app.add_option("--directory", options.directory, "Where to write")->required();
  app.add_option("--mib", options.size.mib, "MiB per rank")->check(CLI::PositiveNumber);
  app.add_option("--tensors", options.size.tensors, "Number of tensors")
      ->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions, "Loads measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--cut", options.cut, "How the loading ranks hold the state")
      ->check(CLI::IsMember({"same", "shifted", "replicated"}));
  app.add_flag("!--no-verify", options.verify, "Without digests");
  CLI11_PARSE(app, argc, argv);
  return run_or_abort(runtime, [&] { run(options); });
}
