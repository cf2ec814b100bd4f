#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/save/writer.hpp"
#include "sherd/io/checkpointer.hpp"

namespace sherd::io {

/// Writes of one file that go on while the caller does something else. One thread uses it; the
/// memory of a write must stay until it is reported done. Destruction waits for what is under way.
class WriteQueue {
 public:
  struct Write {
    const std::byte* data = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  virtual ~WriteQueue() = default;
  /// Whether as many are under way as the backend takes.
  [[nodiscard]] virtual bool full() const = 0;
  /// Only when not full(). Throws IoError.
  virtual void submit(const Write& write) = 0;
  /// What has been written since the last call. With `block` waits for at least one, provided that
  /// any is under way. Throws IoError when a write failed.
  [[nodiscard]] virtual std::vector<Write> done(bool block) = 0;
};

/// Whether this program and this kernel have io_uring.
[[nodiscard]] bool io_uring_works() noexcept;

/// `writer` must outlive the queue.
[[nodiscard]] std::unique_ptr<WriteQueue> make_uring_queue(ShardWriter& writer);
[[nodiscard]] std::unique_ptr<WriteQueue> make_thread_queue(ShardWriter& writer, int threads);

}  // namespace sherd::io
