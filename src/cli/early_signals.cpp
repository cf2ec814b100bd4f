// Signals of a run are heard before main(): the libraries take a tenth of a second to start, and a
// batch system may take its node back in that time.
#include <cstring>
#include <new>

#include "sherd/train/stop_signal.hpp"

namespace {

/// Never destroyed, so that a signal while the program ends does not kill it either.
alignas(sherd::train::StopSignal) unsigned char place[sizeof(sherd::train::StopSignal)];

void hear_signals(int argc, char** argv, char** /*environment*/) {
  if (argc > 1 && std::strcmp(argv[1], "train") == 0) {
    new (place) sherd::train::StopSignal;
  }
}

/// What the loader calls before the constructors of all libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*before_constructors)(int, char**,
                                                                          char**) = hear_signals;

}  // namespace
