#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "sherd/runtime/memory.hpp"
#include "sherd/runtime/stream.hpp"

namespace sherd::runtime {

struct CountingOptions;

/// Whether a kind of device can be used by this process, and if not a reason a person can act on.
struct DeviceStatus {
  bool available = false;
  std::string reason;  ///< the devices found when available, else why not
};

/// Whether CUDA devices can be used: this build has the CUDA parts, a driver answers, a device is
/// there and SHERD_DISABLE_CUDA is not set. Local; starts no CUDA context; never throws for an
/// absent device.
[[nodiscard]] DeviceStatus cuda_status();

struct DeviceDescription {
  std::string kind;    ///< "cuda" or "emulated"
  int ordinal = 0;     ///< among the devices this process sees
  std::string name;    ///< "NVIDIA H200"
  std::string pci_id;  ///< "0000:3b:00.0"; empty where there is none
};

struct DeviceMemory {
  std::size_t total = 0;
  std::size_t free = 0;
};

/// One accelerator, as one rank uses it.
///
/// *The stream-ordered memory rule.* Memory comes from recycling pools and belongs to the compute
/// stream: a block that is released may be handed out again at once, to work that is issued to the
/// compute stream later. So memory that is used on the compute stream alone needs no care at all.
/// Whoever uses it on another stream orders that stream by events, twice: behind the compute stream
/// before the first use (`other.wait(compute.record())`), and ahead of it before the memory is
/// released (`compute.wait(other.record())`). Pinned memory is the host's as well: it is released,
/// or written by the host, only when every copy that uses it is known to be done.
class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual const DeviceDescription& description() const noexcept = 0;
  [[nodiscard]] virtual DeviceMemory memory() const = 0;

  /// Pinned or device memory from the pool, 64-byte aligned (256 on a GPU). Never null; throws
  /// DeviceError with the bytes asked for and those there are. Thread-safe, as release() is.
  [[nodiscard]] virtual std::byte* allocate(MemoryKind kind, std::size_t bytes) = 0;
  /// `bytes` as passed to allocate().
  virtual void release(MemoryKind kind, std::byte* data, std::size_t bytes) noexcept = 0;
  [[nodiscard]] virtual PoolStats stats(MemoryKind kind) const noexcept = 0;
  virtual void reset_peak(MemoryKind kind) noexcept = 0;
  /// Gives pooled blocks back to the system; waits for all work. Returns how many bytes that were.
  virtual std::size_t release_pooled(MemoryKind kind) noexcept = 0;

  /// The stream kernels run on.
  [[nodiscard]] virtual Stream& compute_stream() noexcept = 0;
  /// Another one; it keeps what it needs of the device alive.
  [[nodiscard]] virtual std::unique_ptr<Stream> make_stream() = 0;

  /// Blocks until the device has nothing to do.
  virtual void synchronize() = 0;
  /// Lets queued work go on without waiting for it: for loops in which the host waits for something
  /// else. A GPU needs no such help; an emulated device does.
  virtual void progress() {}
  /// Makes this thread's CUDA calls go to the device; nothing elsewhere.
  virtual void make_current() {}
  /// Not null for a device that drops all work and only counts memory (counting_device.hpp).
  [[nodiscard]] virtual const CountingOptions* counting() const noexcept { return nullptr; }

 protected:
  Device() = default;
};

/// Opens a CUDA device; starts its context, and Kokkos on it. A process has one, which stays open:
/// a second call gives the same. Not thread-safe. Throws ConfigError with the reason when CUDA
/// cannot be used by this build or here.
[[nodiscard]] std::shared_ptr<Device> open_cuda(int ordinal);

/// The device of the calling thread; null: everything is in host memory.
[[nodiscard]] Device* current_device() noexcept;

/// While it lives, `device` (may be null) is the calling thread's device.
class DeviceScope {
 public:
  explicit DeviceScope(std::shared_ptr<Device> device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  std::shared_ptr<Device> device_;
  Device* previous_;
};

}  // namespace sherd::runtime
