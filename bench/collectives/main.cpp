#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "collectives/cases.hpp"
#include "collectives/measure.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/runtime/runtime.hpp"

namespace {

using sherd::bench::Case;

struct Options {
  std::vector<std::size_t> bytes{1U << 10, 1U << 14, 1U << 18, 1U << 20,
                                 1U << 22, 1U << 24, 1U << 26};
  int repetitions = 15;
  std::string backend = "auto";
};

/// One JSON line: GB/s are whole-buffer bytes over the slowest rank's time, for every contender.
void print_case(const Case& measured, const std::vector<double>& seconds, std::size_t bytes,
                const sherd::comm::Communicator& comm) {
  std::string line = fmt::format(
      "{{\"bench\":\"collectives\",\"op\":\"{}\",\"backend\":\"{}\",\"ranks\":{},\"bytes\":{}",
      measured.operation, comm.backend(), comm.size(), bytes);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    line += fmt::format(",\"{0}_us\":{1:.2f},\"{0}_gbps\":{2:.3f}", measured.contenders[i].name,
                        seconds[i] * 1e6, static_cast<double>(bytes) / seconds[i] * 1e-9);
  }
  line += fmt::format(",\"over_stock\":{:.2f},\"over_memcpy\":{:.3f}", seconds[1] / seconds[0],
                      seconds[2] / seconds[0]);
  if (seconds.size() > 3) {
    line += fmt::format(",\"shared_over_stock\":{:.2f},\"shared_over_memcpy\":{:.3f}",
                        seconds[1] / seconds[3], seconds[2] / seconds[3]);
  }
  std::puts((line + "}").c_str());
  std::fflush(stdout);
}

void run_all(const Options& options) {
  const auto comms = sherd::comm::make_mesh_comms(options.backend);
  for (const std::size_t bytes : options.bytes) {
    sherd::bench::Buffers buffers(*comms.world, bytes);
    for (const Case& next : make_cases(*comms.world, buffers)) {
      const auto seconds = sherd::bench::median_seconds(next.contenders, options.repetitions);
      if (comms.world->rank() == 0) {
        print_case(next, seconds, buffers.bytes(), *comms.world);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Collectives: ours, the stock MPI call and memcpy on the same bytes in the same run");
  Options options;
  app.add_option("--bytes", options.bytes, "Sizes of the whole buffer");
  app.add_option("--repetitions", options.repetitions, "Samples of each; the median counts")
      ->check(CLI::PositiveNumber);
  app.add_option("--backend", options.backend, "auto, shm or mpi");
  CLI11_PARSE(app, argc, argv);
  sherd::runtime::Runtime runtime(argc, argv);
  try {
    run_all(options);
  } catch (const std::exception& error) {
    sherd::log::error(error.what());
    runtime.abort(1);
  }
  return 0;
}
