#include "tensor/kernel/isa.hpp"

#include <algorithm>
#include <atomic>

namespace sherd::kernel {
namespace {

Isa detect() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  const auto has_v3 = [] {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  };
  const auto has_v4 = [] {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  };
  if (has_v3()) {
    return has_v4() ? Isa::v4 : Isa::v3;
  }
#endif
  return Isa::baseline;
}

std::atomic<Isa>& current() noexcept {
  static std::atomic<Isa> isa{detect()};
  return isa;
}

}  // namespace

Isa host_isa() noexcept { return current().load(std::memory_order_relaxed); }

Isa limit_host_isa(Isa limit) noexcept {
  current().store(std::min(limit, detect()), std::memory_order_relaxed);
  return host_isa();
}

}  // namespace sherd::kernel
