#include "collectives/measure.hpp"

#include <mpi.h>

#include <algorithm>

namespace sherd::bench {
namespace {

/// Calls are repeated until a sample takes about this long: the clock and the barrier must not
/// count.
constexpr double kSampleSeconds = 2e-4;
constexpr int kMostCalls = 1000;

double slowest_rank(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

double seconds_of(const std::function<void()>& run, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    run();
  }
  return slowest_rank(MPI_Wtime() - start) / calls;
}

/// The first call touches memory, the second is the estimate.
int calls_per_sample(const std::function<void()>& run) {
  static_cast<void>(seconds_of(run, 1));
  const double once = seconds_of(run, 1);
  return std::clamp(static_cast<int>(kSampleSeconds / std::max(once, 1e-9)), 1, kMostCalls);
}

}  // namespace

std::vector<double> median_seconds(const std::vector<Contender>& contenders, int repetitions) {
  std::vector<int> calls;
  for (const Contender& contender : contenders) {
    calls.push_back(calls_per_sample(contender.run));
  }
  std::vector<std::vector<double>> samples(contenders.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      samples[i].push_back(seconds_of(contenders[i].run, calls[i]));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& sample : samples) {
    std::nth_element(sample.begin(), sample.begin() + repetitions / 2, sample.end());
    medians.push_back(sample[static_cast<std::size_t>(repetitions / 2)]);
  }
  return medians;
}

}  // namespace sherd::bench
