#pragma once

#include <cuda_runtime_api.h>

#include "sherd/base/unique_handle.hpp"
#include "sherd/runtime/stream.hpp"

namespace sherd::runtime::cuda {

struct StreamTraits {
  using Raw = cudaStream_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept;
};

/// A stream that does not wait for the default stream.
class CudaStream final : public Stream {
 public:
  /// On the current device. `urgent`: its work goes first where the device has to choose.
  explicit CudaStream(bool urgent);

  [[nodiscard]] Event record(Timing timing) override;
  void wait(const Event& event) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void fill_zero(void* data, std::size_t bytes) override;
  void run(std::function<void()> function) override;
  void synchronize() override;
  [[nodiscard]] void* native() const noexcept override { return stream_.get(); }

 private:
  UniqueHandle<StreamTraits> stream_;
};

}  // namespace sherd::runtime::cuda
