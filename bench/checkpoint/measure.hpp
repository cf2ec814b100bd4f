#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "sherd/base/log.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/flat_range.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/runtime/runtime.hpp"

/// What the benchmarks of this folder share.
namespace sherd::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline double slowest(comm::Communicator& world, double seconds) {
  world.all_reduce(&seconds, &seconds, 1, DType::f64, comm::ReduceOp::max).wait();
  return seconds;
}

/// Processor seconds of all ranks together.
inline double cpu_seconds(comm::Communicator& world) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  double mine = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  world.all_reduce(&mine, &mine, 1, DType::f64, comm::ReduceOp::sum).wait();
  return mine;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct StateSize {
  std::int64_t mib = 512;  // per rank, when cut evenly
  int tensors = 300;
};

/// Which elements of a tensor of so many this rank holds.
using Cut = std::function<dtensor::FlatRange(std::int64_t numel)>;

/// f32 tensors of equal size, each filled with a byte of its own.
inline dtensor::StateDict make_state(const comm::Communicator& world, const StateSize& size,
                                     const Cut& cut) {
  dtensor::StateDict state;
  const std::int64_t numel = size.mib * (1 << 20) / 4 * world.size() / size.tensors;
  const dtensor::FlatRange range = cut(numel);
  for (int i = 0; i < size.tensors; ++i) {
    dtensor::DTensor tensor;
    tensor.spec.name = fmt::format("layers.{}.weight", i);
    tensor.spec.global_shape = Shape{numel};
    tensor.spec.placement = range.numel == numel && world.size() > 1
                                ? dtensor::Placement::replicated
                                : dtensor::Placement::sharded;
    tensor.spec.offset = range.first;
    tensor.spec.numel = range.numel;
    tensor.local = Tensor::zeros(Shape{range.numel}, DType::f32);
    std::memset(tensor.local.raw(), i + 1, tensor.local.nbytes());
    state.tensors["model." + tensor.spec.name] = std::move(tensor);
  }
  return state;
}

inline dtensor::StateDict make_even_state(const comm::Communicator& world, const StateSize& size) {
  return make_state(world, size, [&](std::int64_t numel) {
    return dtensor::even_part({0, numel}, world.size(), world.rank());
  });
}

/// An exception on one rank ends all.
inline int run_or_abort(runtime::Runtime& runtime, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    log::error(error.what());
    runtime.abort(1);
  }
  return 0;
}

}  // namespace sherd::bench
