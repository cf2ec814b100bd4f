#pragma once

/// What a process must do about its standard streams, once at its start and once at its end.
namespace sherd::cli {

/// Makes failed writes errors of the write: SIGPIPE and SIGXFSZ are ignored, and no file that the
/// process opens can take the number of a standard stream that was closed.
void prepare_streams() noexcept;

/// Flushes standard output. Where it was lost (full disk, closed, a pipe without a reader), says so
/// on standard error and returns kFailed in the place of 0, else `code`.
[[nodiscard]] int check_output(int code) noexcept;

}  // namespace sherd::cli
