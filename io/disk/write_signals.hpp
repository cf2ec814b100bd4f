#pragma once

#include <csignal>

namespace sherd::io {

/// While one lives, a write of this thread past the limit of file sizes (RLIMIT_FSIZE) or into a
/// pipe without a reader is an error of that write (EFBIG, EPIPE); by default the signals that come
/// with it, SIGXFSZ and SIGPIPE, end the process, which belongs to the program that uses the
/// library. Local; must go on the thread that made it. errno survives its end.
class WriteSignals {
 public:
  WriteSignals() noexcept;
  ~WriteSignals();
  WriteSignals(const WriteSignals&) = delete;
  WriteSignals& operator=(const WriteSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace sherd::io
