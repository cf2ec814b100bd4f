#include "runtime/cuda_stream.hpp"

#include <memory>
#include <utility>

#include "runtime/cuda_call.hpp"
#include "sherd/base/check.hpp"

namespace sherd::runtime::cuda {
namespace {

struct EventTraits {
  using Raw = cudaEvent_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept { report(cudaEventDestroy(raw), "cudaEventDestroy"); }
};

class CudaEvent final : public EventState {
 public:
  CudaEvent(cudaStream_t stream, Timing timing) {
    cudaEvent_t raw = nullptr;
    const unsigned flags = timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming;
    check(cudaEventCreateWithFlags(&raw, flags), "cudaEventCreateWithFlags");
    event_.reset(raw);
    check(cudaEventRecord(raw, stream), "cudaEventRecord");
  }

  [[nodiscard]] bool done() override {
    const cudaError_t state = cudaEventQuery(event_.get());
    if (state == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // it is no error
      return false;
    }
    check(state, "cudaEventQuery");
    return true;
  }
  void synchronize() override { check(cudaEventSynchronize(event_.get()), "cudaEventSynchronize"); }
  [[nodiscard]] double seconds_since(EventState& earlier) override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, of(earlier), event_.get()), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

  [[nodiscard]] static cudaEvent_t of(EventState& state) {
    const auto* event = dynamic_cast<CudaEvent*>(&state);
    expect(event != nullptr, "an event of another device");
    return event->event_.get();
  }

 private:
  UniqueHandle<EventTraits> event_;
};

void CUDART_CB call(void* data) {
  const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(data));
  (*function)();
}

cudaStream_t make_stream(bool urgent) {
  int least = 0;
  int most = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &most), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t raw = nullptr;
  check(cudaStreamCreateWithPriority(&raw, cudaStreamNonBlocking, urgent ? most : least),
        "cudaStreamCreateWithPriority");
  return raw;
}

}  // namespace

void StreamTraits::close(Raw raw) noexcept { report(cudaStreamDestroy(raw), "cudaStreamDestroy"); }

CudaStream::CudaStream(bool urgent) : stream_(make_stream(urgent)) {}

Event CudaStream::record(Timing timing) {
  return Event(std::make_shared<CudaEvent>(stream_.get(), timing));
}

void CudaStream::wait(const Event& event) {
  if (event.state() != nullptr) {
    check(cudaStreamWaitEvent(stream_.get(), CudaEvent::of(*event.state()), 0),
          "cudaStreamWaitEvent");
  }
}

void CudaStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "cudaMemcpyAsync");
  }
}

/// From pageable memory CUDA copies to a staging buffer of its own before it returns.
void CudaStream::upload(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }

void CudaStream::fill_zero(void* data, std::size_t bytes) {
  if (bytes > 0) {
    check(cudaMemsetAsync(data, 0, bytes, stream_.get()), "cudaMemsetAsync");
  }
}

void CudaStream::run(std::function<void()> function) {
  auto kept = std::make_unique<std::function<void()>>(std::move(function));
  check(cudaLaunchHostFunc(stream_.get(), call, kept.get()), "cudaLaunchHostFunc");
  static_cast<void>(kept.release());  // call() owns it now
}

void CudaStream::synchronize() {
  check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

}  // namespace sherd::runtime::cuda
