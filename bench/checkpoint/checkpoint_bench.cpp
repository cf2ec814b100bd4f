#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "io/shard_writer.hpp"
#include "io/staging.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/flat_range.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/runtime/runtime.hpp"

/// What a save costs, next to the bare file system and to memcpy with the same bytes. One JSON
/// line.
namespace {

using Clock = std::chrono::steady_clock;
using sherd::comm::Communicator;

struct Options {
  std::string directory;
  std::int64_t mib = 256;  // per rank
  int tensors = 300;
  int repetitions = 5;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double slowest(Communicator& world, double seconds) {
  world.all_reduce(&seconds, &seconds, 1, sherd::DType::f64, sherd::comm::ReduceOp::max).wait();
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

sherd::dtensor::StateDict make_state(Communicator& world, const Options& options) {
  sherd::dtensor::StateDict state;
  const std::int64_t numel = options.mib * (1 << 20) / 4 * world.size() / options.tensors;
  for (int i = 0; i < options.tensors; ++i) {
    const auto range = sherd::dtensor::even_part({0, numel}, world.size(), world.rank());
    sherd::dtensor::DTensor tensor;
    tensor.spec.name = fmt::format("layers.{}.weight", i);
    tensor.spec.global_shape = sherd::Shape{numel};
    tensor.spec.offset = range.first;
    tensor.spec.numel = range.numel;
    tensor.local = sherd::Tensor::zeros(sherd::Shape{range.numel}, sherd::DType::f32);
    std::memset(tensor.local.raw(), i + 1, tensor.local.nbytes());
    state.tensors["model." + tensor.spec.name] = std::move(tensor);
  }
  return state;
}

/// The same bytes from one buffer straight to one shared file, synced: what the file system gives.
double bare_write(Communicator& world, const Options& options, const std::byte* data) {
  const std::filesystem::path path = std::filesystem::path(options.directory) / "bare.bin";
  const auto bytes = static_cast<std::uint64_t>(options.mib) << 20;
  const auto fs = sherd::io::posix_file_system();
  world.barrier();
  const Clock::time_point start = Clock::now();
  {
    sherd::io::ShardWriter writer(*fs, path);
    if (world.rank() == 0) {
      writer.allocate(bytes * static_cast<std::uint64_t>(world.size()));
    }
    writer.write(data, bytes * static_cast<std::uint64_t>(world.rank()), bytes);
    writer.sync();
  }
  const double seconds = slowest(world, seconds_since(start));
  if (world.rank() == 0) {
    std::filesystem::remove(path);
  }
  world.barrier();
  return seconds;
}

double bare_copy(Communicator& world, const sherd::dtensor::StateDict& state, std::byte* to) {
  world.barrier();
  const Clock::time_point start = Clock::now();
  for (const auto& [key, tensor] : state.tensors) {
    std::memcpy(to, tensor.local.raw(), tensor.local.nbytes());
    to += tensor.local.nbytes();
  }
  return slowest(world, seconds_since(start));
}

struct Times {
  double first_stall = 0;
  std::vector<double> stall, commit, bare, copy, load;
};

void print(const Communicator& world, const Options& options, const Times& times) {
  const double gigabytes = static_cast<double>(options.mib) * world.size() * (1 << 20) * 1e-9;
  fmt::print(
      "{{\"bench\":\"checkpoint\",\"ranks\":{},\"tensors\":{},\"bytes\":{:.0f},\"first_stall_s\":"
      "{:.4f},\"stall_s\":{:.4f},\"memcpy_s\":{:.4f},\"commit_s\":{:.4f},\"commit_gbps\":{:.3f},"
      "\"bare_write_s\":{:.4f},\"bare_write_gbps\":{:.3f},\"commit_over_bare\":{:.3f},"
      "\"load_s\":{:.4f}}}\n",
      world.size(), options.tensors, gigabytes * 1e9, times.first_stall, median(times.stall),
      median(times.copy), median(times.commit), gigabytes / median(times.commit),
      median(times.bare), gigabytes / median(times.bare), median(times.commit) / median(times.bare),
      median(times.load));
}

void run(const Options& options) {
  auto comms = sherd::comm::make_mesh_comms();
  Communicator& world = *comms.world;
  sherd::dtensor::StateDict state = make_state(world, options);
  sherd::io::StagingBuffer buffer;
  buffer.reserve(static_cast<std::size_t>(options.mib) << 20);
  sherd::io::Checkpointer checkpointer(comms, {.directory = options.directory, .keep_last = 2});
  Times times;
  for (int i = 0; i <= options.repetitions; ++i) {
    world.barrier();
    const Clock::time_point start = Clock::now();
    const auto ticket = checkpointer.save_async(i, state);
    ticket.wait();
    const double commit = slowest(world, seconds_since(start));
    const double stall = slowest(world, ticket.stall_seconds());
    if (i == 0) {
      times.first_stall = stall;
      bare_copy(world, state, buffer.data());
      continue;
    }
    times.stall.push_back(stall);
    times.commit.push_back(commit);
    times.copy.push_back(bare_copy(world, state, buffer.data()));
    times.bare.push_back(bare_write(world, options, buffer.data()));
    const Clock::time_point load_start = Clock::now();
    (void)checkpointer.load_latest(state);
    times.load.push_back(slowest(world, seconds_since(load_start)));
  }
  if (world.rank() == 0) {
    print(world, options, times);
  }
}

}  // namespace

int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  Options options;
  CLI::App app("Saves and loads a sharded state; prints one JSON line");
  app.add_option("--directory", options.directory, "Where to write")->required();
  app.add_option("--mib", options.mib, "MiB per rank")->check(CLI::PositiveNumber);
  app.add_option("--tensors", options.tensors, "Number of tensors")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions, "Saves measured")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    sherd::log::error(error.what());
    runtime.abort(1);
  }
  return 0;
}
