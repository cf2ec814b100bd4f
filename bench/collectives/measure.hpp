#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sherd::bench {

/// One way to do an operation: what is timed, and on the same bytes.
struct Contender {
  std::string name;
  std::function<void()> run;
};

/// Seconds of one call, by contender, in the order given: the slowest rank's time, median over
/// `repetitions`. Contenders take turns in every repetition, so that a disturbance of the machine
/// meets all of them. Collective over MPI_COMM_WORLD; the same on all ranks.
[[nodiscard]] std::vector<double> median_seconds(const std::vector<Contender>& contenders,
                                                 int repetitions);

}  // namespace sherd::bench
