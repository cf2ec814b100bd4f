#include "comm/device/device_self.hpp"

#include <utility>

#include "comm/arguments.hpp"

namespace sherd::comm {
namespace {

/// The compute stream comes to it in its turn; only a host that reads the result must wait.
class CopyWork final : public WorkState {
 public:
  CopyWork(std::shared_ptr<runtime::Device> device, runtime::Event event)
      : device_(std::move(device)), event_(std::move(event)) {}

  bool test() override {
    device_->progress();
    return event_.done();
  }
  void wait() override {}
  void synchronize() override { event_.synchronize(); }

 private:
  std::shared_ptr<runtime::Device> device_;
  runtime::Event event_;
};

}  // namespace

DeviceSelf::DeviceSelf(std::shared_ptr<runtime::Device> device) : device_(std::move(device)) {}

Work DeviceSelf::copy(const void* from, void* to, std::size_t count, DType dtype) {
  runtime::Stream& stream = device_->compute_stream();
  if (count > 0 && from != to) {
    stream.copy(to, from, count * size_of(dtype));
  }
  return Work(std::make_unique<CopyWork>(device_, stream.record()));
}

Work DeviceSelf::all_gather(const void* shard, void* full, std::size_t count, DType dtype) {
  return copy(shard, full, count, dtype);
}

Work DeviceSelf::reduce_scatter(const void* full, void* shard, std::size_t count, DType dtype,
                                ReduceOp) {
  expect_reducible(dtype);
  return copy(full, shard, count, dtype);
}

Work DeviceSelf::all_reduce(const void* in, void* out, std::size_t count, DType dtype, ReduceOp) {
  expect_reducible(dtype);
  return copy(in, out, count, dtype);
}

Work DeviceSelf::broadcast(void*, std::size_t, DType, int root) {
  expect_root(root, 1);
  return {};
}

void DeviceSelf::barrier() {}

std::unique_ptr<Communicator> DeviceSelf::duplicate() {
  return std::make_unique<DeviceSelf>(device_);
}

}  // namespace sherd::comm
