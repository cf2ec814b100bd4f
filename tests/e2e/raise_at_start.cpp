// Preloaded into the program: a SIGTERM before main(), while libraries start.
#include <csignal>
#include <cstdlib>

namespace {

[[gnu::constructor]] void raise_signal() {
  ::unsetenv("LD_PRELOAD");  // the processes that MPI starts are left alone
  (void)std::raise(SIGTERM);
}

}  // namespace
