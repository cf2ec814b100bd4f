// What runs a fuzz target without libFuzzer: the same mutants of its seeds every time. Without
// arguments it makes kMutants of them; with file names it reads these instead; `--seeds FOLDER`
// writes the seeds there.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mutator.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMutants = SHERD_FUZZ_MUTANTS;
constexpr auto kLongest = std::chrono::seconds(5);  // of one input, on a busy machine

std::string current;  // for the report of a crash

/// Writes the input that the program ends on where a person can read it again.
[[noreturn]] void fail(const char* what) {
  const char* const path = "fuzz-failure.bin";
  std::ofstream(path, std::ios::binary) << current;
  std::fprintf(stderr, "%s; the input of %zu bytes is in %s\n", what, current.size(), path);
  std::exit(1);
}

void run_one(std::string input) {
  current = std::move(input);
  const auto start = Clock::now();
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
  } catch (const std::exception& error) {
    fail((std::string("not an error of sherd's: ") + typeid(error).name() + ": " + error.what())
             .c_str());
  }
  if (Clock::now() - start > kLongest) {
    fail("an input that takes too long");
  }
}

std::string content_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// An input that makes a reader take all memory must end this program, not the machine; one that
/// makes it recurse must do so on a small stack.
void set_limits() {
#ifdef SHERD_FUZZ_LIMITS
  constexpr rlim_t kMost = rlim_t{3} << 30;
  const rlimit limit{kMost, kMost};
  (void)::setrlimit(RLIMIT_AS, &limit);
  constexpr rlim_t kStack = rlim_t{1} << 20;
  const rlimit stack{kStack, kStack};
  (void)::setrlimit(RLIMIT_STACK, &stack);
#endif
}

/// What a libFuzzer program starts from.
int write_seeds(const std::string& folder) {
  const std::vector<std::string> seeds = fuzz_seeds();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream out(folder + "/seed-" + std::to_string(i), std::ios::binary);
    if (!(out << seeds[i]).flush()) {
      std::fprintf(stderr, "cannot write seeds to '%s'\n", folder.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string_view("--seeds")) {
    return write_seeds(argv[2]);
  }
  set_limits();
  for (int i = 1; i < argc; ++i) {
    run_one(content_of(argv[i]));
  }
  if (argc > 1) {
    return 0;
  }
  const std::vector<std::string> seeds = fuzz_seeds();
  for (const std::string& seed : seeds) {
    run_one(seed);
  }
  sherd::fuzz::Mutator mutator(seeds);
  for (int i = 0; i < kMutants; ++i) {
    run_one(mutator.next());
  }
  std::printf("%d mutants of %zu seeds\n", kMutants, seeds.size());
  return 0;
}
