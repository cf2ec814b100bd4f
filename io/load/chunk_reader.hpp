#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "io/format/checkpoint_files.hpp"
#include "io/load/read_chunks.hpp"

namespace sherd::io {

/// Reads at once: while one is handled the disk works on the others.
constexpr std::size_t kReadsAtOnce = 4;

/// Called on a reading thread with a chunk's number and its bytes.
using TakeChunk = std::function<void(std::size_t chunk, std::span<const std::byte> bytes)>;

/// Local, blocking. Reads the chunks `order` names, in about that order, and hands each to `take`
/// on several threads at once. Rethrows the first exception of reading or of `take`.
void read_chunks(const CheckpointFiles& files, const std::vector<ReadChunk>& chunks,
                 std::span<const std::size_t> order, const TakeChunk& take);

/// Reads ahead: chunks in exactly the order given, kReadsAtOnce of them in memory.
class ChunkStream {
 public:
  /// `inspect` is called on the reading thread before next() gives the chunk out. What is passed by
  /// reference must outlive this.
  ChunkStream(const CheckpointFiles& files, const std::vector<ReadChunk>& chunks,
              std::vector<std::size_t> order, TakeChunk inspect);
  ~ChunkStream();
  ChunkStream(const ChunkStream&) = delete;
  ChunkStream& operator=(const ChunkStream&) = delete;

  struct Result {
    std::span<std::byte> bytes;  ///< until the next call; contents are undefined after an error
    std::exception_ptr error;
  };
  /// Blocking. Called once for each chunk of the order, by one thread.
  Result next();

 private:
  struct Slot {
    PageBuffer buffer{kReadBytes};
    std::span<std::byte> bytes;
    std::exception_ptr error;
    bool full = false;
  };

  void work();
  void fill(Slot& slot, std::size_t chunk);

  const CheckpointFiles& files_;
  const std::vector<ReadChunk>& chunks_;
  std::vector<std::size_t> order_;
  TakeChunk inspect_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::size_t begun_ = 0;     // places of the order that a thread has taken on
  std::size_t given_ = 0;     // that next() gave out
  std::size_t released_ = 0;  // whose memory is free again
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace sherd::io
