#include "comm/device/device_self.hpp"

#include <utility>

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

/// A copy, or nothing: a broadcast has one buffer and a barrier none.
Work DeviceSelf::start(const Collective& c) {
  if (c.kind == CollectiveKind::broadcast || c.kind == CollectiveKind::barrier) {
    return {};
  }
  runtime::Stream& stream = device_->compute_stream();
  if (c.count > 0 && c.in != c.out) {
    stream.copy(c.out, c.in, c.bytes());
  }
  return Work(std::make_unique<CopyWork>(device_, stream.record()));
}

std::unique_ptr<Communicator> DeviceSelf::duplicate() {
  return std::make_unique<DeviceSelf>(device_);
}

}  // namespace sherd::comm
