// Memory that is counted and not there: how plans learn what a step holds without running it.
#include "sherd/runtime/counting_device.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "sherd/base/error.hpp"
#include "sherd/runtime/block_pool.hpp"

namespace sherd::runtime {
namespace {

constexpr std::size_t kPoolUnit = std::size_t{2} << 20;

/// Addresses without memory behind them. The reservation may be smaller than all that is asked for:
/// addresses then begin again at its start, which harms nobody, as none is ever read or written.
class Reservation final : public BlockSource {
 public:
  Reservation() {
    for (bytes_ = std::size_t{1} << 40; bytes_ >= kPoolUnit; bytes_ /= 2) {
      void* const at =
          ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at != MAP_FAILED) {
        begin_ = static_cast<std::byte*>(at);
        return;
      }
    }
    throw DeviceError(
        "no address space for a counting device (nothing can be planned). Try: a "
        "higher limit of virtual memory (ulimit -v)");
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() override { ::munmap(begin_, bytes_); }

  std::byte* obtain(std::size_t size) noexcept override {
    if (used_ + size > bytes_) {
      used_ = 0;
    }
    std::byte* const block = begin_ + used_;
    used_ += std::min(size, bytes_);
    return block;
  }
  void give_back(std::byte*, std::size_t) noexcept override {}

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
};

/// Everything that was issued is done: it will never be.
class DroppingStream final : public Stream {
 public:
  Event record(Timing) override { return {}; }
  void wait(const Event&) override {}
  void copy(void*, const void*, std::size_t) override {}
  void upload(void*, const void*, std::size_t) override {}
  void fill_zero(void*, std::size_t) override {}
  void run(std::function<void()>) override {}
  void synchronize() override {}
  [[nodiscard]] void* native() const noexcept override { return nullptr; }
};

class CountingDevice final : public Device {
 public:
  explicit CountingDevice(CountingOptions options)
      : options_(std::move(options)),
        description_{"counting", 0, "a device that only counts", ""},
        pool_(reservation_, kPoolUnit) {}

  [[nodiscard]] const DeviceDescription& description() const noexcept override {
    return description_;
  }
  [[nodiscard]] DeviceMemory memory() const override {
    return {reservation_.bytes(), reservation_.bytes()};
  }
  [[nodiscard]] std::byte* allocate(MemoryKind kind, std::size_t bytes) override {
    if (kind != MemoryKind::device) {
      throw DeviceError("a counting device has no pinned memory");
    }
    std::byte* const block = pool_.take(bytes);
    if (options_.on_allocate) {
      options_.on_allocate(pool_.stats().live_bytes);
    }
    return block;
  }
  void release(MemoryKind, std::byte* data, std::size_t bytes) noexcept override {
    pool_.give(data, bytes);
  }
  [[nodiscard]] PoolStats stats(MemoryKind) const noexcept override { return pool_.stats(); }
  void reset_peak(MemoryKind) noexcept override { pool_.reset_peak(); }
  std::size_t release_pooled(MemoryKind) noexcept override { return pool_.release(); }
  [[nodiscard]] Stream& compute_stream() noexcept override { return stream_; }
  [[nodiscard]] std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<DroppingStream>();
  }
  void synchronize() override {}
  [[nodiscard]] const CountingOptions* counting() const noexcept override { return &options_; }

 private:
  CountingOptions options_;
  DeviceDescription description_;
  Reservation reservation_;
  BlockPool pool_;
  DroppingStream stream_;
};

}  // namespace

std::shared_ptr<Device> make_counting(CountingOptions options) {
  return std::make_shared<CountingDevice>(std::move(options));
}

}  // namespace sherd::runtime
