#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "sherd/base/log.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/runtime/runtime.hpp"

// How much of an exchange between nodes is hidden behind computing.

namespace {

using sherd::DType;
using sherd::comm::Communicator;
using sherd::comm::Progress;
using sherd::comm::ReduceOp;
using sherd::comm::Work;

struct Options {
  std::string op = "all_gather";
  std::size_t bytes = std::size_t{16} << 20;  // one rank's piece
  double poll_ms = 3;
  double compute_ms = 500;
  int repetitions = 5;
  std::string progress = "polling";
  bool pin = false;
  bool idle_odd_ranks = false;
};

double cpu_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Sums that stay in registers, until the time is over.
class Computing {
 public:
  /// Computes for `ms` milliseconds and returns the processor seconds of that. `poll` is called
  /// every `poll_ms`.
  template <class Poll>
  double run(double ms, double poll_ms, const Poll& poll) {
    const double start = MPI_Wtime();
    double seconds = 0;
    for (double now = start, next = start + poll_ms * 1e-3; now < start + ms * 1e-3;) {
      const double before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
      for (int i = 0; i < 50000; ++i) {
        value_ = value_ * 0.999999 + 1e-7;
      }
      seconds += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before;
      now = MPI_Wtime();
      if (now >= next) {
        poll(now - start);
        next = now + poll_ms * 1e-3;
      }
    }
    sink_ = value_;
    return seconds;
  }

 private:
  double value_ = 1;
  volatile double sink_ = 0;
};

struct Sample {
  double exchange_ms = 0;  ///< nothing else going on
  double behind_ms = 0;    ///< until it was found complete while computing, or waited for after
  double cpu_ms = 0;       ///< processor time of this rank that did not compute meanwhile
};

class Overlap {
 public:
  Overlap(Communicator& comm, const Options& options)
      : comm_(comm),
        options_(options),
        computes_(!options.idle_odd_ranks || comm.rank() % 2 == 0),
        count_(options.bytes / sizeof(float)),
        shard_(count_, 1.0F),
        full_(count_ * static_cast<std::size_t>(comm.size()), 1.0F) {}

  Sample sample() {
    Sample result;
    comm_.barrier();
    double start = MPI_Wtime();
    issue().wait();
    result.exchange_ms = (MPI_Wtime() - start) * 1e3;
    comm_.barrier();
    start = MPI_Wtime();
    const double cpu_before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    Work work = issue();
    double done = 0;
    const auto poll = [&](double now) { done = done == 0 && work.test() ? now : done; };
    const double computing =
        computes_ ? computing_.run(options_.compute_ms, options_.poll_ms, poll) : 0;
    work.wait();
    result.behind_ms = 1e3 * (done > 0 ? done : MPI_Wtime() - start);
    result.cpu_ms = 1e3 * (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_before - computing);
    return result;
  }

 private:
  Work issue() {
    if (options_.op == "all_gather") {
      return comm_.all_gather(shard_.data(), full_.data(), count_, DType::f32);
    }
    if (options_.op == "reduce_scatter") {
      return comm_.reduce_scatter(full_.data(), shard_.data(), count_, DType::f32, ReduceOp::max);
    }
    return comm_.all_reduce(shard_.data(), shard_.data(), count_, DType::f32, ReduceOp::max);
  }

  Communicator& comm_;
  Options options_;
  bool computes_;
  std::size_t count_;
  std::vector<float> shard_;
  std::vector<float> full_;
  Computing computing_;
};

double median(std::vector<Sample> samples, double Sample::*what) {
  std::sort(samples.begin(), samples.end(),
            [&](const Sample& a, const Sample& b) { return a.*what < b.*what; });
  return samples[samples.size() / 2].*what;
}

/// One core for all threads of a rank.
void pin_to_core(int rank) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(rank % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))), &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
}

void run(const Options& options, int rank) {
  if (options.pin) {
    pin_to_core(rank);
  }
  const auto comms = sherd::comm::make_mesh_comms(
      "auto", options.progress == "thread" ? Progress::thread : Progress::polling);
  Overlap overlap(*comms.cross, options);
  static_cast<void>(overlap.sample());  // connections and pages
  std::vector<Sample> samples;
  for (int i = 0; i < options.repetitions; ++i) {
    samples.push_back(overlap.sample());
  }
  if (rank == 0) {
    fmt::print(
        "{{\"bench\":\"overlap\",\"op\":\"{}\",\"bytes\":{},\"progress\":\"{}\",\"poll_ms\":{},"
        "\"exchange_ms\":{:.1f},\"behind_computing_ms\":{:.1f},\"cpu_ms\":{:.1f}}}\n",
        options.op, options.bytes, options.progress, options.poll_ms,
        median(samples, &Sample::exchange_ms), median(samples, &Sample::behind_ms),
        median(samples, &Sample::cpu_ms));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "An exchange between nodes behind a loop that computes: how long it takes, what it costs");
  Options options;
  app.add_option("--op", options.op, "all_gather, reduce_scatter or all_reduce");
  app.add_option("--bytes", options.bytes, "Bytes of one rank's piece");
  app.add_option("--poll-ms", options.poll_ms, "Computing between two polls");
  app.add_option("--progress", options.progress, "polling or thread");
  app.add_flag("--pin", options.pin, "One core for all threads of a rank");
  app.add_option("--compute-ms", options.compute_ms, "Computing in all");
  app.add_option("--repetitions", options.repetitions, "The median counts")
      ->check(CLI::PositiveNumber);
  app.add_flag("--idle-odd-ranks", options.idle_odd_ranks, "Only every second rank computes");
  CLI11_PARSE(app, argc, argv);
  sherd::runtime::Runtime runtime(argc, argv);
  try {
    run(options, runtime.rank());
  } catch (const std::exception& error) {
    sherd::log::error(error.what());
    runtime.abort(1);
  }
  return 0;
}
