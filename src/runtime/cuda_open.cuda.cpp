#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cctype>

#include "runtime/cuda_call.hpp"
#include "runtime/cuda_stream.hpp"
#include "runtime/kokkos_env.hpp"
#include "sherd/base/check.hpp"
#include "sherd/runtime/block_pool.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::runtime {
namespace {

using cuda::check;
using cuda::report;

constexpr std::size_t kCoarse = std::size_t{2} << 20;  // what CUDA gives out at least

/// Whichever thread asks: another device that is current there must not get a context.
class DeviceBlocks final : public BlockSource {
 public:
  explicit DeviceBlocks(int ordinal) : ordinal_(ordinal) {}
  std::byte* obtain(std::size_t size) noexcept override {
    void* block = nullptr;
    if (cudaSetDevice(ordinal_) != cudaSuccess || cudaMalloc(&block, size) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return nullptr;
    }
    return static_cast<std::byte*>(block);
  }
  /// Waits for all work of the device.
  void give_back(std::byte* block, std::size_t) noexcept override {
    report(cudaFree(block), "cudaFree");
  }

 private:
  int ordinal_;
};

class PinnedBlocks final : public BlockSource {
 public:
  explicit PinnedBlocks(int ordinal) : ordinal_(ordinal) {}
  std::byte* obtain(std::size_t size) noexcept override {
    void* block = nullptr;
    if (cudaSetDevice(ordinal_) != cudaSuccess || cudaMallocHost(&block, size) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return nullptr;
    }
    return static_cast<std::byte*>(block);
  }
  void give_back(std::byte* block, std::size_t) noexcept override {
    report(cudaFreeHost(block), "cudaFreeHost");
  }

 private:
  int ordinal_;
};

DeviceDescription describe(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  char pci[32] = {};
  check(cudaDeviceGetPCIBusId(pci, sizeof pci, ordinal), "cudaDeviceGetPCIBusId");
  for (char& letter : pci) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return {"cuda", ordinal, properties.name, pci};
}

class CudaDevice final : public Device {
 public:
  /// The device is the current one already.
  explicit CudaDevice(int ordinal)
      : description_(describe(ordinal)),
        device_blocks_(ordinal),
        pinned_blocks_(ordinal),
        device_pool_(device_blocks_, kCoarse),
        pinned_pool_(pinned_blocks_, kCoarse),
        compute_(false) {}
  ~CudaDevice() override {
    release_pooled(MemoryKind::pinned);
    release_pooled(MemoryKind::device);
  }

  [[nodiscard]] const DeviceDescription& description() const noexcept override {
    return description_;
  }
  [[nodiscard]] DeviceMemory memory() const override {
    check(cudaSetDevice(description_.ordinal), "cudaSetDevice");
    DeviceMemory memory;
    check(cudaMemGetInfo(&memory.free, &memory.total), "cudaMemGetInfo");
    return memory;
  }
  [[nodiscard]] std::byte* allocate(MemoryKind kind, std::size_t bytes) override {
    std::byte* block = pool(kind).take(bytes);
    if (block == nullptr) {
      throw DeviceError(out_of_memory(kind, bytes));
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
    report(cudaSetDevice(description_.ordinal), "cudaSetDevice");
    report(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return pool(kind).release();
  }
  [[nodiscard]] Stream& compute_stream() noexcept override { return compute_; }
  /// Ahead of the compute stream where the device has to choose: copies and collectives are what
  /// kernels wait for.
  [[nodiscard]] std::unique_ptr<Stream> make_stream() override {
    make_current();
    return std::make_unique<cuda::CudaStream>(true);
  }
  void synchronize() override {
    make_current();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void make_current() override { check(cudaSetDevice(description_.ordinal), "cudaSetDevice"); }

 private:
  BlockPool& pool(MemoryKind kind) noexcept {
    return kind == MemoryKind::pinned ? pinned_pool_ : device_pool_;
  }
  [[nodiscard]] std::string out_of_memory(MemoryKind kind, std::size_t bytes) const {
    if (kind == MemoryKind::pinned) {
      return fmt::format("{} bytes of pinned host memory (CUDA gives no more)", bytes);
    }
    const DeviceMemory now = memory();
    const PoolStats held = stats(kind);
    return fmt::format(
        "{} bytes of memory of {} (it has {}, {} are free, {} are held by tensors of this rank). "
        "Try: `sherd plan` for what the run needs",
        bytes, description_.name, now.total, now.free, held.live_bytes);
  }

  DeviceDescription description_;
  DeviceBlocks device_blocks_;
  PinnedBlocks pinned_blocks_;
  BlockPool device_pool_;
  BlockPool pinned_pool_;
  cuda::CudaStream compute_;
};

}  // namespace

/// The process has one, and keeps it: Kokkos computes on its stream until Kokkos ends.
std::shared_ptr<Device> open_cuda(int ordinal) {
  static std::shared_ptr<Device>& opened = *new std::shared_ptr<Device>;
  if (opened) {
    expect(opened->description().ordinal == ordinal, "a second CUDA device in one process");
    opened->make_current();
    return opened;
  }
  const DeviceStatus status = cuda_status();
  if (!status.available) {
    throw ConfigError("device cuda is not there: " + status.reason);
  }
  if (!kokkos_has_cuda()) {
    throw ConfigError(
        "device cuda is not there: Kokkos was built without CUDA (kernels run through it). Try: a "
        "Kokkos with CUDA, as spack install kokkos+cuda gives it, and configure again");
  }
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  start_kokkos_on(ordinal);
  opened = std::make_shared<CudaDevice>(ordinal);
  return opened;
}

}  // namespace sherd::runtime
