// A file that another rank makes may be opened once it has its size.
#include "io/save/gate.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "io/commit/commit.hpp"
#include "io/commit/poll_until.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

namespace sherd::io {
namespace {

/// Two keep a disk busy while one of them is between calls.
constexpr int kThreads = 2;

std::unique_ptr<WriteQueue> make_queue(ShardWriter& writer, WriteBackend backend) {
  if (backend == WriteBackend::io_uring && !writer.throttled()) {
    try {
      return make_uring_queue(writer);
    } catch (const IoError& error) {  // the kernel let us a while ago; its limits are reached now
      log::warning(std::string("checkpoints are written by threads: ") + error.what());
    }
  }
  return make_thread_queue(writer, writer.throttled() ? 1 : kThreads);
}

}  // namespace

ShardGate::ShardGate(FileSystem& fs, Where where, WriteBackend backend)
    : fs_(fs), where_(std::move(where)), backend_(backend) {}

void ShardGate::open() {
  writer_ =
      std::make_unique<ShardWriter>(fs_, where_.folder / where_.file, ShardWriter::Open::existing);
  queue_ = make_queue(*writer_, backend_);
}

bool ShardGate::try_open() {
  if (queue_ != nullptr) {
    return true;
  }
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(where_.folder / where_.file, missing);
  if (missing || bytes < where_.bytes) {
    return false;
  }
  open();
  return true;
}

void ShardGate::wait_open() {
  const bool there = poll_until(where_.timeout, [&] {
    throw_if_failed(where_.folder);
    return try_open();
  });
  if (!there) {
    throw IoError(fmt::format("'{}' was not made by its first rank within {} s", where_.file,
                              where_.timeout.count()));
  }
}

}  // namespace sherd::io
