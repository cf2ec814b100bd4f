#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "io/positioned_reader.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/flat_range.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/runtime/runtime.hpp"

/// What loading a checkpoint costs, digests checked, next to bare direct reads of the same files by
/// the same ranks, taken in turns. One JSON line.
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using sherd::comm::Communicator;
using sherd::dtensor::FlatRange;

struct Options {
  std::string directory;
  std::int64_t mib = 512;  // per rank
  int tensors = 300;
  int repetitions = 5;
  std::string cut = "same";
  bool verify = true;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double slowest(Communicator& world, double seconds) {
  world.all_reduce(&seconds, &seconds, 1, sherd::DType::f64, sherd::comm::ReduceOp::max).wait();
  return seconds;
}

/// Of all ranks together.
double cpu_seconds(Communicator& world) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  double mine = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  world.all_reduce(&mine, &mine, 1, sherd::DType::f64, sherd::comm::ReduceOp::sum).wait();
  return mine;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

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

sherd::dtensor::StateDict make_state(const Communicator& world, const Options& options,
                                     const std::string& cut) {
  sherd::dtensor::StateDict state;
  const std::int64_t numel = options.mib * (1 << 20) / 4 * world.size() / options.tensors;
  for (int i = 0; i < options.tensors; ++i) {
    const FlatRange range = range_of(cut, numel, world);
    sherd::dtensor::DTensor tensor;
    tensor.spec.name = fmt::format("layers.{}.weight", i);
    tensor.spec.global_shape = sherd::Shape{numel};
    tensor.spec.placement = cut == "replicated" ? sherd::dtensor::Placement::replicated
                                                : sherd::dtensor::Placement::sharded;
    tensor.spec.offset = range.first;
    tensor.spec.numel = range.numel;
    tensor.local = sherd::Tensor::zeros(sherd::Shape{range.numel}, sherd::DType::f32);
    std::memset(tensor.local.raw(), i + 1, tensor.local.nbytes());
    state.tensors["model." + tensor.spec.name] = std::move(tensor);
  }
  return state;
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
  const double gigabytes = static_cast<double>(options.mib) * world.size() * (1 << 20) * 1e-9;
  const double raw = std::min(median(times.one), median(times.four));
  fmt::print(
      "{{\"bench\":\"checkpoint_read\",\"ranks\":{},\"tensors\":{},\"cut\":\"{}\",\"verify\":{},"
      "\"page_cache\":\"{}\",\"bytes\":{:.0f},\"bytes_read\":{},\"load_s\":{:.4f},"
      "\"load_gbps\":{:.3f},\"load_cpu_s\":{:.3f},\"pread_1_gbps\":{:.3f},\"pread_4_gbps\":{:.3f},"
      "\"load_over_best_pread\":{:.3f}}}\n",
      world.size(), options.tensors, options.cut, options.verify, times.cold ? "cold" : "warm",
      gigabytes * 1e9, times.bytes, median(times.load), gigabytes / median(times.load),
      median(times.cpu), gigabytes / median(times.one), gigabytes / median(times.four),
      raw / median(times.load));
}

void run(const Options& options) {
  auto comms = sherd::comm::make_mesh_comms();
  Communicator& world = *comms.world;
  sherd::io::Checkpointer checkpointer(
      comms, {.directory = options.directory, .keep_last = 2, .overwrite = true});
  checkpointer.save_async(1, make_state(world, options, "same")).wait();
  sherd::dtensor::StateDict state = make_state(world, options, options.cut);
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
  app.add_option("--mib", options.mib, "MiB per rank")->check(CLI::PositiveNumber);
  app.add_option("--tensors", options.tensors, "Number of tensors")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions, "Loads measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--cut", options.cut, "How the loading ranks hold the state")
      ->check(CLI::IsMember({"same", "shifted", "replicated"}));
  app.add_flag("!--no-verify", options.verify, "Without digests");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    sherd::log::error(error.what());
    runtime.abort(1);
  }
  return 0;
}
