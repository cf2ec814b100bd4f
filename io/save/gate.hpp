#pragma once

#include <chrono>
#include <filesystem>
#include <memory>

#include "io/save/write_queue.hpp"
#include "io/save/writer.hpp"

namespace sherd::io {

/// How a rank gets at the shard file that another rank makes: it may be opened once it has its
/// size, so that no write has to lengthen it. Local.
class ShardGate {
 public:
  struct Where {
    std::filesystem::path folder;  ///< of the step, in flight
    std::string file;              ///< relative to it
    std::uint64_t bytes = 0;
    std::chrono::duration<double> timeout{};
  };

  ShardGate(FileSystem& fs, Where where, WriteBackend backend);

  /// Lets the maker of the file go on: it is there.
  void open();
  /// Opens the file if it is ready.
  [[nodiscard]] bool try_open();
  /// Waits until it is. Throws IoError after the timeout or when the save has failed elsewhere.
  void wait_open();

  /// Only once open.
  [[nodiscard]] ShardWriter& writer() { return *writer_; }
  [[nodiscard]] WriteQueue& queue() { return *queue_; }

 private:
  FileSystem& fs_;
  Where where_;
  WriteBackend backend_;
  std::unique_ptr<ShardWriter> writer_;
  std::unique_ptr<WriteQueue> queue_;
};

}  // namespace sherd::io
