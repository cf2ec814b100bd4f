// Writes by io_uring.
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "io/disk/file_ops.hpp"
#include "io/disk/page.hpp"
#include "io/save/write_queue.hpp"
#include "sherd/base/error.hpp"

#ifdef SHERD_HAVE_LIBURING
#include <liburing.h>
#endif

namespace sherd::io {

#ifdef SHERD_HAVE_LIBURING
namespace {

constexpr unsigned kDepth = 16;

/// Whole pages go through the ring; edges, and what the ring leaves over, are written at once.
class UringQueue final : public WriteQueue {
 public:
  explicit UringQueue(ShardWriter& writer) : writer_(writer) {
    const int result = io_uring_queue_init(kDepth, &ring_, 0);
    if (result < 0) {
      errno = -result;
      throw_errno("set up io_uring for", writer.path());
    }
  }
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;

  ~UringQueue() override {
    while (under_way_ > 0) {  // the kernel reads the callers' memory until then
      io_uring_cqe* entry = nullptr;
      if (io_uring_wait_cqe(&ring_, &entry) == 0) {
        io_uring_cqe_seen(&ring_, entry);
        --under_way_;
      }
    }
    io_uring_queue_exit(&ring_);
  }

  bool full() const override { return under_way_ == kDepth; }

  void submit(const Write& write) override {
    const std::uint64_t head = std::min((kPage - write.offset % kPage) % kPage, write.bytes);
    const std::uint64_t whole = (write.bytes - head) / kPage * kPage;
    const std::uint64_t tail = write.bytes - head - whole;
    writer_.write(write.data, write.offset, head);
    writer_.write(write.data + head + whole, write.offset + head + whole, tail);
    if (whole == 0 || !writer_.direct() || !on_page(write.data + head, write.offset + head)) {
      writer_.write(write.data + head, write.offset + head, whole);
      finished_.push_back(write);
      return;
    }
    start(write, {write.data + head, write.offset + head, whole});
  }

  std::vector<Write> done(bool block) override {
    if (block && finished_.empty() && under_way_ > 0) {
      take_one();
    }
    io_uring_cqe* entry = nullptr;
    while (under_way_ > 0 && io_uring_peek_cqe(&ring_, &entry) == 0) {
      complete(entry);
    }
    return std::exchange(finished_, {});
  }

 private:
  struct Slot {
    Write whole;   ///< as the caller knows it
    Write direct;  ///< what the ring writes of it
    bool used = false;
  };

  void start(const Write& write, const Write& direct) {
    std::size_t slot = 0;
    while (slots_[slot].used) {
      ++slot;
    }
    slots_[slot] = {write, direct, true};
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    io_uring_prep_write(entry, writer_.direct_fd(), direct.data,
                        static_cast<unsigned>(direct.bytes), direct.offset);
    io_uring_sqe_set_data64(entry, slot);
    ++under_way_;
    int result = io_uring_submit(&ring_);
    while (result == -EINTR || result == -EAGAIN) {
      result = io_uring_submit(&ring_);
    }
    if (result < 0) {
      --under_way_;
      errno = -result;
      throw_errno("write", writer_.path());
    }
  }

  void take_one() {
    io_uring_cqe* entry = nullptr;
    int result = io_uring_wait_cqe(&ring_, &entry);
    while (result == -EINTR) {
      result = io_uring_wait_cqe(&ring_, &entry);
    }
    if (result < 0) {
      errno = -result;
      throw_errno("wait for writes to", writer_.path());
    }
    complete(entry);
  }

  void complete(io_uring_cqe* entry) {
    Slot& slot = slots_[io_uring_cqe_get_data64(entry)];
    const int result = entry->res;
    io_uring_cqe_seen(&ring_, entry);
    --under_way_;
    slot.used = false;
    finish(slot.direct, result);
    finished_.push_back(slot.whole);
  }

  /// Short writes, and refusals that the plain call may not meet, are done over by it.
  void finish(const Write& direct, int result) {
    const bool again = result == -EINTR || result == -EAGAIN || result == -EINVAL;
    if (result < 0 && !again) {
      errno = -result;
      throw_errno("write", writer_.path());
    }
    const std::uint64_t written = again ? 0 : static_cast<std::uint64_t>(result);
    writer_.write(direct.data + written, direct.offset + written, direct.bytes - written);
  }

  ShardWriter& writer_;
  io_uring ring_{};
  std::size_t under_way_ = 0;
  Slot slots_[kDepth];
  std::vector<Write> finished_;
};

}  // namespace

bool io_uring_works() noexcept {
  io_uring ring{};
  if (io_uring_queue_init(2, &ring, 0) < 0) {
    return false;
  }
  io_uring_queue_exit(&ring);
  return true;
}

std::unique_ptr<WriteQueue> make_uring_queue(ShardWriter& writer) {
  return std::make_unique<UringQueue>(writer);
}

#else

bool io_uring_works() noexcept { return false; }

std::unique_ptr<WriteQueue> make_uring_queue(ShardWriter&) {
  throw IoError("sherd was built without liburing. Try: the pwrite backend");
}

#endif

}  // namespace sherd::io
