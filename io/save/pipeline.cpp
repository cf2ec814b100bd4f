// Copying and writing of one save in turns: the ring says when to copy, the queue when to write.
#include "io/save/pipeline.hpp"

#include <algorithm>

namespace sherd::io {

void SavePipeline::run(const std::function<void()>& all_staged,
                       const std::function<void()>& halfway) {
  bool said_staged = false;
  bool said_halfway = false;
  while (true) {
    const bool copied = stage_one();
    if (next_ == plan_.chunks.size() && !said_staged) {
      said_staged = true;
      all_staged();
    }
    if (!copied && !filled_.empty()) {
      gate_.wait_open();  // no room, or nothing left to copy: nothing else to do meanwhile
    }
    submit_filled();
    if (!said_halfway && 2 * next_ >= plan_.chunks.size()) {
      said_halfway = true;
      halfway();
    }
    if (next_ == plan_.chunks.size() && filled_.empty() && handed_.empty()) {
      return;
    }
    reap(!copied);
  }
}

/// False when there is no room, or nothing left.
bool SavePipeline::stage_one() {
  if (next_ == plan_.chunks.size()) {
    return false;
  }
  const Chunk& chunk = plan_.chunks[next_];
  std::byte* const memory = ring_.try_acquire(memory_of(chunk));
  if (memory == nullptr) {
    return false;
  }
  filled_.push_back({memory, stager_.copy(chunk, memory), next_});
  ++next_;
  ticket_.chunk_staged();
  return true;
}

void SavePipeline::submit_filled() {
  while (!filled_.empty() && gate_.try_open() && !gate_.queue().full()) {
    const Filled filled = filled_.front();
    const Chunk& chunk = plan_.chunks[filled.chunk];
    handed_.push_back(filled);
    filled_.pop_front();
    gate_.queue().submit({filled.begin, chunk.file_offset, chunk.bytes});
  }
}

void SavePipeline::reap(bool block) {
  if (handed_.empty()) {
    return;
  }
  for (const WriteQueue::Write& write : gate_.queue().done(block)) {
    const auto found = std::find_if(handed_.begin(), handed_.end(), [&](const Filled& filled) {
      return filled.begin == write.data;
    });
    ring_.release(found->memory);
    handed_.erase(found);
    ticket_.wrote(write.bytes);
  }
}

}  // namespace sherd::io
