#include "sherd/runtime/emulated_device.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/emulated_scheduler.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"
#include "sherd/runtime/block_pool.hpp"

namespace sherd::runtime {
namespace {

constexpr int kPoison = 0xFF;  // NaN in every floating type
constexpr std::size_t kEmulatedCoarse = std::size_t{2} << 20;

class StreamOfQueue final : public EmulatedStream {
 public:
  explicit StreamOfQueue(std::shared_ptr<EmulatedScheduler> scheduler)
      : scheduler_(std::move(scheduler)), queue_(scheduler_->make_queue()) {}
  ~StreamOfQueue() override {
    if (std::uncaught_exceptions() == 0) {
      try {
        scheduler_->drain(*queue_);
      } catch (const std::exception& error) {
        log::warning(fmt::format("an emulated stream ended with: {}", error.what()));
      }
    }
    scheduler_->drop_queue(queue_);
  }

  Event record(Timing timing) override {
    auto event = std::make_shared<EmulatedEvent>(scheduler_);
    event->timed = timing == Timing::on;
    scheduler_->enqueue(*queue_, {.start = {}, .poll = {}, .record = event, .await = {}});
    return Event(event);
  }
  void wait(const Event& event) override {
    if (event.state() == nullptr) {
      return;
    }
    auto* state = dynamic_cast<EmulatedEvent*>(event.state());
    expect(state != nullptr && state->scheduler == scheduler_,
           "a stream waits for an event of another device");
    scheduler_->enqueue(
        *queue_, {.start = {}, .poll = {}, .record = {}, .await = state->shared_from_this()});
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) {
      execute([to, from, bytes] { std::memcpy(to, from, bytes); });
    }
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) {
      const auto* first = static_cast<const std::byte*>(from);
      execute([to, kept = std::vector<std::byte>(first, first + bytes)] {
        std::memcpy(to, kept.data(), kept.size());
      });
    }
  }
  void fill_zero(void* data, std::size_t bytes) override {
    if (bytes > 0) {
      execute([data, bytes] { std::memset(data, 0, bytes); });
    }
  }
  void run(std::function<void()> function) override { execute(std::move(function)); }
  void execute(std::function<void()> operation) override {
    scheduler_->enqueue(*queue_,
                        {.start = std::move(operation), .poll = {}, .record = {}, .await = {}});
  }
  void run_polled(std::function<void()> start, std::function<bool()> poll) override {
    scheduler_->enqueue(
        *queue_, {.start = std::move(start), .poll = std::move(poll), .record = {}, .await = {}});
  }
  /// execute(), but nothing runs now.
  void push(std::function<void()> operation) {
    scheduler_->push(*queue_,
                     {.start = std::move(operation), .poll = {}, .record = {}, .await = {}});
  }
  void synchronize() override { scheduler_->drain(*queue_); }
  [[nodiscard]] void* native() const noexcept override { return nullptr; }

 private:
  std::shared_ptr<EmulatedScheduler> scheduler_;
  std::shared_ptr<EmulatedQueue> queue_;
};

/// Blocks of the emulated memory; poisoned fresh, and again where the compute stream is when they
/// are released.
class EmulatedDeviceBlocks final : public BlockSource {
 public:
  EmulatedDeviceBlocks(EmulatedMemory& memory, StreamOfQueue& compute, bool poison)
      : memory_(memory), compute_(compute), poison_(poison) {}

  std::byte* obtain(std::size_t size) noexcept override {
    std::byte* block = memory_.obtain(size);
    if (block != nullptr && poison_) {
      const UnlockedMemory unlocked(memory_);
      std::memset(block, kPoison, size);
    }
    return block;
  }
  void give_back(std::byte* block, std::size_t) noexcept override { memory_.give_back(block); }
  void pooled(std::byte* block, std::size_t size) noexcept override {
    if (poison_) {
      compute_.push([block, size] { std::memset(block, kPoison, size); });
    }
  }

 private:
  EmulatedMemory& memory_;
  StreamOfQueue& compute_;
  bool poison_;
};

/// Host memory; poisoned at once when it is released, for the host may use it at once.
class EmulatedPinnedBlocks final : public BlockSource {
 public:
  explicit EmulatedPinnedBlocks(bool poison) : poison_(poison) {}
  std::byte* obtain(std::size_t size) noexcept override {
    return static_cast<std::byte*>(std::aligned_alloc(64, size));
  }
  void give_back(std::byte* block, std::size_t) noexcept override { std::free(block); }
  void taken(std::byte* block, std::size_t bytes, std::size_t) noexcept override {
    poison(block, bytes);
  }
  void pooled(std::byte* block, std::size_t size) noexcept override { poison(block, size); }

 private:
  void poison(std::byte* block, std::size_t bytes) const noexcept {
    if (poison_) {
      std::memset(block, kPoison, bytes);
    }
  }
  bool poison_;
};

class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(const EmulatedOptions& options)
      : description_{"emulated", 0, "emulated device", ""},
        scheduler_(std::make_shared<EmulatedScheduler>(options)),
        compute_(scheduler_),
        device_blocks_(scheduler_->memory(), compute_, options.poison_memory),
        pinned_blocks_(options.poison_memory),
        device_pool_(device_blocks_, kEmulatedCoarse),
        pinned_pool_(pinned_blocks_, kEmulatedCoarse) {}
  ~EmulatedDevice() override {
    release_pooled(MemoryKind::pinned);
    release_pooled(MemoryKind::device);
  }

  [[nodiscard]] const DeviceDescription& description() const noexcept override {
    return description_;
  }
  [[nodiscard]] DeviceMemory memory() const override {
    const EmulatedMemory& memory = scheduler_->memory();
    return {memory.total(), memory.total() - memory.used()};
  }
  [[nodiscard]] std::byte* allocate(MemoryKind kind, std::size_t bytes) override {
    std::byte* block = pool(kind).take(bytes);
    if (block == nullptr) {
      throw DeviceError(fmt::format("{} bytes of {} memory ({} of {} are free)", bytes,
                                    to_string(kind), memory().free, memory().total));
    }
    return block;
  }
  void release(MemoryKind kind, std::byte* data, std::size_t bytes) noexcept override {
    pool(kind).give(data, bytes);
  }
  [[nodiscard]] PoolStats stats(MemoryKind kind) const noexcept override {
    return kind == MemoryKind::pinned ? pinned_pool_.stats() : device_pool_.stats();
  }
  void reset_peak(MemoryKind kind) noexcept override { pool(kind).reset_peak(); }
  std::size_t release_pooled(MemoryKind kind) noexcept override {
    try {
      scheduler_->drain();
    } catch (const std::exception& error) {
      log::warning(fmt::format("an emulated device was released with: {}", error.what()));
    }
    return pool(kind).release();
  }
  [[nodiscard]] Stream& compute_stream() noexcept override { return compute_; }
  [[nodiscard]] std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<StreamOfQueue>(scheduler_);
  }
  void synchronize() override { scheduler_->drain(); }
  void progress() override { scheduler_->progress(64); }

 private:
  BlockPool& pool(MemoryKind kind) noexcept {
    return kind == MemoryKind::pinned ? pinned_pool_ : device_pool_;
  }

  DeviceDescription description_;
  std::shared_ptr<EmulatedScheduler> scheduler_;
  StreamOfQueue compute_;
  EmulatedDeviceBlocks device_blocks_;
  EmulatedPinnedBlocks pinned_blocks_;
  BlockPool device_pool_;
  BlockPool pinned_pool_;
};

}  // namespace

std::shared_ptr<Device> make_emulated(const EmulatedOptions& options) {
  return std::make_shared<EmulatedDevice>(options);
}

EmulatedStream* as_emulated(Stream& stream) noexcept {
  return dynamic_cast<EmulatedStream*>(&stream);
}

}  // namespace sherd::runtime
