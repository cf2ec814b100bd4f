#include "runtime/thread_limits.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace sherd::runtime {

void set_library_threads(int threads) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) {
    return;
  }
  setenv("OMP_NUM_THREADS", fmt::format("{}", threads).c_str(), 1);  // for what is loaded later
  // An OpenMP runtime that is already loaded has read the environment: tell it directly. Looked up
  // by name because nothing here needs OpenMP itself.
  using SetThreads = void (*)(int);
  if (void* symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads"); symbol != nullptr) {
    reinterpret_cast<SetThreads>(symbol)(threads);
  }
}

}  // namespace sherd::runtime
