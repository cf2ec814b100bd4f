// Several reads at once, so that a disk has a queue to work on.
#include "io/load/chunk_reader.hpp"
#include "sherd/runtime/team.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

namespace sherd::io {
namespace {

/// The threads of one read_chunks() call take chunks from here.
class ChunkQueue {
 public:
  ChunkQueue(const CheckpointFiles& files, const std::vector<ReadChunk>& chunks,
             std::span<const std::size_t> order, const TakeChunk& take)
      : files_(files), chunks_(chunks), order_(order), take_(take) {}

  void work() {
    try {
      PageBuffer buffer(kReadBytes);
      while (!failed_) {
        const std::size_t place = next_++;
        if (place >= order_.size()) {
          return;
        }
        const ReadChunk& chunk = chunks_[order_[place]];
        take_(order_[place], files_[chunk.file].read_direct(chunk.offset, chunk.bytes, buffer));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failed_.exchange(true)) {
        error_ = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  const CheckpointFiles& files_;
  const std::vector<ReadChunk>& chunks_;
  std::span<const std::size_t> order_;
  const TakeChunk& take_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void read_chunks(const CheckpointFiles& files, const std::vector<ReadChunk>& chunks,
                 std::span<const std::size_t> order, const TakeChunk& take) {
  ChunkQueue queue(files, chunks, order, take);
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(kReadsAtOnce, order.size()); ++i) {
      helpers.emplace_back([&] {
        runtime::leave_the_team();
        queue.work();
      });
    }
    queue.work();
  }
  queue.rethrow();
}

ChunkStream::ChunkStream(const CheckpointFiles& files, const std::vector<ReadChunk>& chunks,
                         std::vector<std::size_t> order, TakeChunk inspect)
    : files_(files),
      chunks_(chunks),
      order_(std::move(order)),
      inspect_(std::move(inspect)),
      slots_(std::min(kReadsAtOnce, order_.size())) {
  try {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      threads_.emplace_back([this] {
        runtime::leave_the_team();
        work();
      });
    }
  } catch (const std::system_error&) {
    if (threads_.empty()) {
      throw;
    }  // fewer will do
  }
}

ChunkStream::~ChunkStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  threads_.clear();  // joins while the members they use are there
}

ChunkStream::Result ChunkStream::next() {
  std::unique_lock lock(mutex_);
  released_ = given_;
  changed_.notify_all();
  Slot& slot = slots_.at(given_ % slots_.size());
  changed_.wait(lock, [&] { return slot.full; });
  slot.full = false;
  ++given_;
  return {slot.bytes, slot.error};
}

void ChunkStream::work() {
  std::unique_lock lock(mutex_);
  while (begun_ < order_.size()) {
    const std::size_t place = begun_++;
    changed_.wait(lock, [&] { return stop_ || place < released_ + slots_.size(); });
    if (stop_) {
      return;
    }
    Slot& slot = slots_[place % slots_.size()];
    lock.unlock();
    fill(slot, order_[place]);
    lock.lock();
    slot.full = true;
    changed_.notify_all();
  }
}

void ChunkStream::fill(Slot& slot, std::size_t number) {
  const ReadChunk& chunk = chunks_[number];
  slot.bytes = {slot.buffer.data(), chunk.bytes};
  slot.error = nullptr;
  try {
    slot.bytes = files_[chunk.file].read_direct(chunk.offset, chunk.bytes, slot.buffer);
    inspect_(number, slot.bytes);
  } catch (...) {
    slot.error = std::current_exception();
  }
}

}  // namespace sherd::io
