#include "runtime/thread_limits.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace sherd::runtime {

void limit_library_threads() {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) {
    return;
  }
  setenv("OMP_NUM_THREADS", "1", 1);  // for what is loaded later
  // An OpenMP runtime that is already loaded has read the environment: tell it directly. Looked up
  // by name because nothing here needs OpenMP itself.
  using SetThreads = void (*)(int);
  if (void* symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads"); symbol != nullptr) {
    reinterpret_cast<SetThreads>(symbol)(1);
  }
}

}  // namespace sherd::runtime
