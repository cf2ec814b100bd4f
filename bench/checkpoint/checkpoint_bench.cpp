#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/measure.hpp"
#include "io/save/ring.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/runtime/runtime.hpp"

/// What a save costs, next to bare calls that write the same bytes by the same ranks in the same
/// run, one after the other in each repetition. One JSON line; seconds are the slowest rank's.
namespace {

using namespace sherd::bench;
using sherd::comm::Communicator;
using sherd::io::WriteBackend;

struct Options {
  std::string directory;
  StateSize size;
  int repetitions = 5;
  std::uint64_t staging_mib = 0;  // per node; 0: the default
  bool mpio = false;
  bool lazy = false;
  double prepare = -1;  // seconds; negative: the first save is not prepared
};

void require(bool good, const char* what) {
  if (!good) {
    throw std::runtime_error(std::string(what) + " failed");
  }
}

/// This rank's part of one shared file, from a page-aligned buffer, then fdatasync: 8 MiB a call.
void write_bare(const std::filesystem::path& path, int flags, const std::byte* data,
                std::uint64_t offset, std::uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | flags);
  require(fd >= 0, "open");
  constexpr std::uint64_t kCall = std::uint64_t{8} << 20;
  for (std::uint64_t at = 0; at < bytes; at += kCall) {
    const std::uint64_t count = std::min(kCall, bytes - at);
    require(::pwrite(fd, data + at, count, static_cast<off_t>(offset + at)) ==
                static_cast<ssize_t>(count),
            "pwrite");
  }
  require(::fdatasync(fd) == 0, "fdatasync");
  ::close(fd);
}

/// Seconds until the same bytes lie in one file, all ranks writing; its space is reserved first.
double bare_write(Communicator& world, const Options& options, const std::byte* data, int flags) {
  const std::filesystem::path path = std::filesystem::path(options.directory) / "bare.bin";
  const auto bytes = static_cast<std::uint64_t>(options.size.mib) << 20;
  world.barrier();
  const Clock::time_point start = Clock::now();
  if (world.rank() == 0) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
    require(fd >= 0 && ::fallocate(fd, 0, 0, static_cast<off_t>(bytes) * world.size()) == 0,
            "fallocate");
    ::close(fd);
  }
  world.barrier();
  write_bare(path, flags, data, bytes * static_cast<std::uint64_t>(world.rank()), bytes);
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
  double prepare = 0;
  double first_stall = 0;
  double first_staged = 0;
  std::vector<double> stall, staged, written, durable, commit, wait, cpu;
};

/// One way to save, measured again and again.
class Saves {
 public:
  Saves(sherd::comm::MeshComms& comms, const Options& options, WriteBackend backend,
        const char* folder)
      : world_(*comms.world),
        directory_(std::filesystem::path(options.directory) / folder),
        lazy_(options.lazy),
        checkpointer_(comms, checkpointer_options(options, backend)) {}

  /// As a training does before its first step, which takes that long here.
  void prepare(const sherd::dtensor::StateDict& state, double seconds) {
    world_.barrier();
    const Clock::time_point start = Clock::now();
    checkpointer_.prepare(state);
    times_.prepare = slowest(world_, seconds_since(start));
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  void run(int step, const sherd::dtensor::StateDict& state) {
    world_.barrier();
    const double cpu = cpu_seconds(world_);
    const Clock::time_point start = Clock::now();
    const auto ticket =
        lazy_ ? checkpointer_.save_lazily(step, state) : checkpointer_.save_async(step, state);
    const double stall = slowest(world_, ticket.stall_seconds());
    ticket.wait();
    const double waited = slowest(world_, seconds_since(start));
    const sherd::io::SaveTimes seen = ticket.times();
    const double commit = slowest(world_, seen.committed);
    const double staged = slowest(world_, seen.staged);
    const double written = slowest(world_, seen.written);
    const double durable = slowest(world_, seen.durable);
    const double used = cpu_seconds(world_) - cpu;
    if (step == 0) {  // makes the plan and takes the memory
      times_.first_stall = stall;
      times_.first_staged = staged;
      return;
    }
    times_.stall.push_back(stall);
    times_.staged.push_back(staged);
    times_.written.push_back(written);
    times_.durable.push_back(durable);
    times_.commit.push_back(commit);
    times_.wait.push_back(waited);
    times_.cpu.push_back(used);
  }

  std::string json(double gigabytes, double bare) const {
    const double durable = median(times_.durable);
    return fmt::format(
        "{{\"prepare_s\":{:.4f},\"first_stall_s\":{:.4f},\"first_staged_s\":{:.4f},\"stall_s\":{:."
        "4f},\"staged_s\":{:.4f},\"written_s\":{:.4f},"
        "\"durable_s\":{:.4f},\"committed_s\":{:.4f},\"waited_s\":{:.4f},\"durable_gbps\":{:.3f},"
        "\"of_direct_pwrite\":{:.3f},\"cpu_s\":{:.3f}}}",
        times_.prepare, times_.first_stall, times_.first_staged, median(times_.stall),
        median(times_.staged), median(times_.written), durable, median(times_.commit),
        median(times_.wait), gigabytes / durable, bare / durable, median(times_.cpu));
  }

  [[nodiscard]] std::filesystem::path directory() const { return directory_; }

 private:
  sherd::io::CheckpointerOptions checkpointer_options(const Options& options,
                                                      WriteBackend backend) const {
    sherd::io::CheckpointerOptions chosen;
    chosen.directory = directory_;
    chosen.keep_last = 2;
    chosen.backend = backend;
    if (options.staging_mib != 0) {
      chosen.staging_bytes_per_node = options.staging_mib << 20;
    }
    return chosen;
  }

  Communicator& world_;
  std::filesystem::path directory_;
  bool lazy_;
  sherd::io::Checkpointer checkpointer_;
  Times times_;
};

void run(const Options& options) {
  auto comms = sherd::comm::make_mesh_comms();
  Communicator& world = *comms.world;
  const sherd::dtensor::StateDict state = make_even_state(world, options.size);
  sherd::io::StagingRing memory;
  const auto bytes = static_cast<std::uint64_t>(options.size.mib) << 20;
  constexpr std::uint64_t kUneven = 1 << 20;  // a rank may hold an element more of each tensor
  memory.reserve(bytes + kUneven);
  std::byte* const buffer = memory.try_acquire(bytes + kUneven);
  Saves ring(comms, options, WriteBackend::automatic, "automatic");
  Saves threads(comms, options, WriteBackend::pwrite, "pwrite");
  Saves mpio(comms, options, options.mpio ? WriteBackend::mpio : WriteBackend::pwrite, "mpio");
  if (options.prepare >= 0) {
    ring.prepare(state, options.prepare);
    threads.prepare(state, options.prepare);
  }
  std::vector<double> direct, buffered, copy;
  for (int i = 0; i <= options.repetitions; ++i) {
    ring.run(i, state);
    threads.run(i, state);
    if (options.mpio) {
      mpio.run(i, state);
      buffered.push_back(bare_write(world, options, buffer, 0));
    }
    copy.push_back(bare_copy(world, state, buffer));
    direct.push_back(bare_write(world, options, buffer, O_DIRECT));
  }
  if (world.rank() != 0) {
    return;
  }
  const double gigabytes = static_cast<double>(options.size.mib) * world.size() * (1 << 20) * 1e-9;
  const double bare = median(direct);
  fmt::print(
      "{{\"bench\":\"checkpoint\",\"ranks\":{},\"tensors\":{},\"bytes\":{:.0f},\"memcpy_s\":{:.4f},"
      "\"direct_pwrite_s\":{:.4f},\"direct_pwrite_gbps\":{:.3f},\"automatic\":{},\"pwrite\":{}",
      world.size(), options.size.tensors, gigabytes * 1e9, median(copy), bare, gigabytes / bare,
      ring.json(gigabytes, bare), threads.json(gigabytes, bare));
  if (options.mpio) {
    fmt::print(",\"buffered_pwrite_s\":{:.4f},\"buffered_pwrite_gbps\":{:.3f},\"mpio\":{}",
               median(buffered), gigabytes / median(buffered), mpio.json(gigabytes, bare));
  }
  fmt::print("}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  Options options;
  CLI::App app("Saves a sharded state in several ways; prints one JSON line");
  app.add_option("--directory", options.directory, "Where to write")->required();
  app.add_option("--mib", options.size.mib, "MiB per rank")->check(CLI::PositiveNumber);
  app.add_option("--tensors", options.size.tensors, "Number of tensors")
      ->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions, "Saves measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--staging-mib", options.staging_mib, "Staging memory per node");
  app.add_option("--prepare", options.prepare, "Prepare the first save, that many seconds before");
  app.add_flag("--lazy", options.lazy, "Copy in the background, too");
  app.add_flag("--mpio", options.mpio, "Also collective H5Dwrite and buffered pwrite");
  CLI11_PARSE(app, argc, argv);
  return run_or_abort(runtime, [&] { run(options); });
}
