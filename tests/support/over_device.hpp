#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "sherd/comm/backends.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::test {

/// Device or pinned memory of a device, given back with the last pointer.
inline std::shared_ptr<std::byte> device_block(runtime::Device& device, runtime::MemoryKind kind,
                                               std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  return {device.allocate(kind, size),
          [owner = device.shared_from_this(), kind, size](std::byte* memory) {
            owner->release(kind, memory, size);
          }};
}

/// A communicator on device memory, used as one on host memory: what a test passes is copied to the
/// device and back. Lets every backend pass one contract.
class OverDevice final : public comm::Communicator {
 public:
  OverDevice(std::unique_ptr<comm::Communicator> inner, std::shared_ptr<runtime::Device> device)
      : inner_(std::move(inner)), device_(std::move(device)) {}

  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::string_view backend() const noexcept override { return inner_->backend(); }

  std::unique_ptr<comm::Communicator> duplicate() override {
    return std::make_unique<OverDevice>(inner_->duplicate(), device_);
  }

 private:
  using Mirror = std::shared_ptr<std::byte>;

  comm::Work start(const comm::Collective& c) override {
    using Kind = comm::CollectiveKind;
    const std::size_t bytes = c.bytes();
    const std::size_t whole_bytes = bytes * ranks();
    comm::Collective moved = c;
    const auto run = [&](const Mirror& in, const Mirror& out, std::size_t out_bytes) {
      moved.in = in.get();
      moved.out = out.get();
      return with_download(inner_->issue(moved), out, c.out, out_bytes, in);
    };
    switch (c.kind) {
      case Kind::all_gather: {
        const Mirror whole = mirror(c.out, whole_bytes);
        return run(inside(whole, c.in, c.out, bytes), whole, whole_bytes);
      }
      case Kind::reduce_scatter: {
        const Mirror whole = mirror(c.in, whole_bytes);
        return run(whole, inside(whole, c.out, c.in, bytes), bytes);
      }
      case Kind::all_reduce:
      case Kind::broadcast: {
        const Mirror from = mirror(c.in, bytes);
        return run(from, c.in == c.out ? from : mirror(c.out, bytes), bytes);
      }
      default:
        return inner_->issue(c);
    }
  }

  class DownloadWork final : public comm::WorkState {
   public:
    DownloadWork(comm::Work work, std::function<void()> download)
        : work_(std::move(work)), download_(std::move(download)) {}
    bool test() override {
      if (!work_.test()) {
        return false;
      }
      wait();
      return true;
    }
    void wait() override {
      work_.wait();
      if (download_) {
        std::exchange(download_, nullptr)();
      }
    }

   private:
    comm::Work work_;
    std::function<void()> download_;
  };

  std::size_t ranks() const { return static_cast<std::size_t>(size()); }

  Mirror mirror(const void* host, std::size_t bytes) {
    Mirror memory = device_block(*device_, runtime::MemoryKind::device, bytes);
    device_->compute_stream().upload(memory.get(), host, bytes);
    return memory;
  }
  /// The mirror of this rank's piece: inside that of the whole where the caller works in place.
  Mirror inside(const Mirror& whole, const void* shard, const void* full, std::size_t bytes) {
    const std::size_t at = bytes * static_cast<std::size_t>(rank());
    if (shard == static_cast<const std::byte*>(full) + at) {
      return {whole, whole.get() + at};
    }
    return mirror(shard, bytes);
  }

  comm::Work with_download(comm::Work work, const Mirror& from, void* to, std::size_t bytes,
                           const Mirror& other) {
    auto download = [this, from, to, bytes, other] {
      const Mirror pinned = device_block(*device_, runtime::MemoryKind::pinned, bytes);
      runtime::Stream& stream = device_->compute_stream();
      if (bytes > 0) {
        stream.copy(pinned.get(), from.get(), bytes);
      }
      comm::Communicator* const watched = inner_.get();
      comm::wait_on_host(stream.record(), {&watched, 1});
      std::memcpy(to, pinned.get(), bytes);
    };
    return comm::Work(std::make_unique<DownloadWork>(std::move(work), std::move(download)));
  }

  std::unique_ptr<comm::Communicator> inner_;
  std::shared_ptr<runtime::Device> device_;
};

}  // namespace sherd::test
