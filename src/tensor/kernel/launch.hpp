#pragma once

#include <cstdint>

#include "sherd/runtime/emulated_device.hpp"
#include "sherd/runtime/team.hpp"
#include "sherd/tensor/kernel/path.hpp"
#include "tensor/kernel/inline.hpp"
#include "tensor/kernel/isa.hpp"

// A kernel body is a small struct of pointers and sizes with
//   void operator()(std::int64_t begin, std::int64_t end) const   (SHERD_KERNEL_INLINE)
//   static constexpr std::int64_t grain                           (items of one parallel iteration)
// Items are independent of each other. The host driver compiles the body for three instruction sets
// and picks one at run time; the attribute is on the driver alone, so no function that other files
// could share is ever compiled for more than the baseline; blocks of items are dealt out to the
// team of the calling thread. On a GPU every item is a thread; on an emulated device the host
// driver runs in stream order; a counting device drops the launch.

namespace sherd::kernel {

#if defined(__x86_64__) && defined(__GNUC__)
// Not "arch=x86-64-v4": that takes away what -march on the command line gives, as from Spack, and a
// body that is compiled for more cannot be inlined.
#define SHERD_ISA_V3 "sse4.2,popcnt,avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"
#define SHERD_ISA_V4 SHERD_ISA_V3 ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
template <class Body>
[[gnu::target(SHERD_ISA_V4)]] void run_v4(Body body, std::int64_t begin, std::int64_t end) {
  body(begin, end);
}
template <class Body>
[[gnu::target(SHERD_ISA_V3)]] void run_v3(Body body, std::int64_t begin, std::int64_t end) {
  body(begin, end);
}
#endif

template <class Body>
void run_baseline(Body body, std::int64_t begin, std::int64_t end) {
  body(begin, end);
}

/// The items on the calling thread.
template <class Body>
void run_items(const Body& body, std::int64_t begin, std::int64_t end) {
#if defined(__x86_64__) && defined(__GNUC__)
  switch (host_isa()) {
    case Isa::v4:
      return run_v4(body, begin, end);
    case Isa::v3:
      return run_v3(body, begin, end);
    case Isa::baseline:
      break;
  }
#endif
  run_baseline(body, begin, end);
}

/// Items of a block that one thread takes at a time: several for each thread, so that a late one
/// does not hold up the others, and whole grains. Items are independent: blocks change no bits.
[[nodiscard]] constexpr std::int64_t items_of_block(std::int64_t count, std::int64_t grain,
                                                    std::int64_t threads) noexcept {
  constexpr std::int64_t kBlocksPerThread = 4;
  const std::int64_t grains = (count + grain - 1) / grain;
  const std::int64_t blocks = threads * kBlocksPerThread;
  return (grains + blocks - 1) / blocks * grain;
}

/// The items on the threads of the calling thread's team; returns when they are done.
template <class Body>
void launch_host(const Body& body, std::int64_t begin, std::int64_t end) {
  const int threads = runtime::team_threads();
  if (threads == 1 || end - begin <= Body::grain) {
    return run_items(body, begin, end);
  }
  const std::int64_t step = items_of_block(end - begin, Body::grain, threads);
  runtime::for_blocks((end - begin + step - 1) / step, [&](std::int64_t block) {
    const std::int64_t first = begin + block * step;
    run_items(body, first, first + step < end ? first + step : end);
  });
}

/// Kokkos::parallel_for over blocks of Body::grain items on the default host execution space;
/// returns when it is done. Instantiated in launch_kokkos.cpp for every body. Throws ArgumentError
/// when Kokkos is not initialised.
template <class Body>
void launch_kokkos(const char* label, const Body& body, std::int64_t count);
[[noreturn]] void throw_without_kokkos();

/// The same over single items on a CUDA stream, without waiting. Instantiated in cuda/, where
/// Kokkos has CUDA.
template <class Body>
void launch_cuda(const char* label, const Body& body, std::int64_t count, void* stream);

template <class Body>
void launch_device(runtime::Device& device, [[maybe_unused]] const char* label, const Body& body,
                   std::int64_t count) {
  if (device.counting() != nullptr) {
    return;
  }
  runtime::Stream& stream = device.compute_stream();
  if (runtime::EmulatedStream* emulated = runtime::as_emulated(stream); emulated != nullptr) {
    emulated->execute([body, count] { launch_host(body, 0, count); });
    return;
  }
#if defined(SHERD_KOKKOS_CUDA)
  launch_cuda(label, body, count, stream.native());
#endif
}

/// Runs the items where the operands are: on the host when `device` is null.
template <class Body>
void launch_at(runtime::Device* device, const char* label, const Body& body, std::int64_t count) {
  if (count <= 0) {
    return;
  }
  if (device != nullptr) {
    launch_device(*device, label, body, count);
  } else {
    launch_host(body, 0, count);
  }
}

/// launch_at(), or on the host through Kokkos if `path` says so.
template <class Body>
void launch(const char* label, const Body& body, std::int64_t count, runtime::Device* device,
            Path path) {
  if (device == nullptr && path == Path::kokkos && count > 0) {
    launch_kokkos(label, body, count);
  } else {
    launch_at(device, label, body, count);
  }
}

}  // namespace sherd::kernel
