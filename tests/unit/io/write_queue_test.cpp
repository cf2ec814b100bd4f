#include "io/save/write_queue.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "io/disk/page.hpp"
#include "io/disk/write_signals.hpp"
#include "io/save/ring.hpp"
#include "sherd/base/error.hpp"
#include "support/checkpoint_world.hpp"
#include "support/file_size_limit.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io {
namespace {

using MakeQueue = std::unique_ptr<WriteQueue> (*)(ShardWriter&);

std::unique_ptr<WriteQueue> two_threads(ShardWriter& writer) {
  return make_thread_queue(writer, 2);
}

class Queues : public ::testing::Test {
 protected:
  Queues() {
    kinds_.emplace_back("threads", &two_threads);
    if (io_uring_works()) {
      kinds_.emplace_back("io_uring", &make_uring_queue);
    }
    memory_.reserve(kBytes);
    data_ = memory_.try_acquire(kBytes);
    for (std::uint64_t at = 0; at < kBytes; ++at) {
      data_[at] = test::pattern(1, static_cast<std::int64_t>(at));
    }
  }
  /// A file of zeros, as a file's first rank makes it.
  std::filesystem::path make_file() const {
    const auto path = directory_.path() / "file";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << std::string(kBytes, '\0');
    return path;
  }

  static constexpr std::uint64_t kBytes = 300 * kPage;
  test::TempFolder directory_;
  FileSystem fs_;
  StagingRing memory_;
  std::byte* data_ = nullptr;
  std::vector<std::pair<const char*, MakeQueue>> kinds_;
};

TEST_F(Queues, EveryWriteArrivesAndIsReportedOnce) {
  for (const auto& [name, make] : kinds_) {
    const auto path = make_file();
    ShardWriter writer(fs_, path, ShardWriter::Open::existing);
    const auto queue = make(writer);
    std::uint64_t at = 0;
    std::uint64_t done = 0;
    const auto reap = [&](bool block) {
      for (const WriteQueue::Write& write : queue->done(block)) {
        done += write.bytes;
        EXPECT_EQ(write.data, data_ + write.offset);
      }
    };
    // More writes than a ring holds, of all alignments, among them some without a whole page.
    for (std::uint64_t i = 0; at < kBytes; ++i) {
      const std::uint64_t bytes = std::min(kBytes - at, 1 + (i * 2741) % (5 * kPage));
      while (queue->full()) {
        reap(true);
      }
      queue->submit({data_ + at, at, bytes});
      at += bytes;
    }
    while (done < kBytes) {
      reap(true);
    }
    EXPECT_TRUE(queue->done(true).empty()) << "nothing is under way";
    std::ifstream in(path, std::ios::binary);
    const std::string written(std::istreambuf_iterator<char>(in), {});
    EXPECT_TRUE(std::equal(written.begin(), written.end(), reinterpret_cast<const char*>(data_)))
        << name;
  }
}

TEST_F(Queues, AFailedWriteIsAnErrorThatNamesTheFile) {
  for (const auto& [name, make] : kinds_) {
    const auto path = make_file();
    ShardWriter writer(fs_, path, ShardWriter::Open::existing);
    const auto queue = make(writer);
    const WriteSignals held;  // as a save's thread has it
    const sherd::test::FileSizeLimit limit(64 * kPage);
    queue->submit({data_, 0, 8 * kPage});
    queue->submit({data_ + 128 * kPage, 128 * kPage, 8 * kPage});
    try {
      while (!queue->done(true).empty()) {
      }
      ADD_FAILURE() << name << " reports nothing";
    } catch (const IoError& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    }
  }
}

TEST_F(Queues, AQueueMayGoWithWritesUnderWay) {
  for (const auto& [name, make] : kinds_) {
    const auto path = make_file();
    ShardWriter writer(fs_, path, ShardWriter::Open::existing);
    const auto queue = make(writer);
    for (int i = 0; i < 8 && !queue->full(); ++i) {
      queue->submit({data_, 0, kBytes});
    }
  }
}

}  // namespace
}  // namespace sherd::io
