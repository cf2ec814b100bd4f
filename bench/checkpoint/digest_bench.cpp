// Rates of CRC-32C and of copying with it, by every path the processor can go, over 1 and 256 MiB:
// bytes digested a second, not traffic.
//   turns: memcpy and digest of 64 KiB in turns, by that path; one pass: both at once
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "io/disk/crc32c_paths.hpp"

namespace sherd::bench {
namespace {

constexpr std::size_t kTurn = std::size_t{64} << 10;

struct Buffers {
  explicit Buffers(const benchmark::State& state)
      : from(static_cast<std::size_t>(state.range(0)) << 20, std::byte{3}), to(from.size()) {}

  std::vector<std::byte> from;
  std::vector<std::byte> to;
};

template <class Work>
void measure(benchmark::State& state, const Work& work) {
  Buffers buffers(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(work(buffers));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(buffers.from.size()));
}

void digest(benchmark::State& state, const io::Crc32cPath& path) {
  measure(state,
          [&](Buffers& it) { return path.take(it.from.data(), it.from.size(), nullptr, 0); });
}

void copy_in_one_pass(benchmark::State& state, const io::Crc32cPath& path) {
  measure(state,
          [&](Buffers& it) { return path.take(it.from.data(), it.from.size(), it.to.data(), 0); });
}

void copy_in_turns(benchmark::State& state, const io::Crc32cPath& path) {
  measure(state, [&](Buffers& it) {
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < it.from.size(); at += kTurn) {
      std::memcpy(it.to.data() + at, it.from.data() + at, kTurn);
      crc = path.take(it.to.data() + at, kTurn, nullptr, crc);
    }
    return crc;
  });
}

void copy_alone(benchmark::State& state) {
  measure(state, [](Buffers& it) {
    std::memcpy(it.to.data(), it.from.data(), it.from.size());
    return it.to.front();
  });
}

using Case = void (*)(benchmark::State&, const io::Crc32cPath&);

void add(const std::string& name, Case run, const io::Crc32cPath& path) {
  benchmark::RegisterBenchmark((name + "/" + path.name).c_str(), run, path)->Arg(1)->Arg(256);
}

}  // namespace
}  // namespace sherd::bench

int main(int argc, char** argv) {
  using namespace sherd;
  benchmark::RegisterBenchmark("memcpy", bench::copy_alone)->Arg(1)->Arg(256);
  for (const io::Crc32cPath& path : io::crc32c_paths()) {
    bench::add("digest", bench::digest, path);
    bench::add("turns", bench::copy_in_turns, path);
    bench::add("one pass", bench::copy_in_one_pass, path);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
