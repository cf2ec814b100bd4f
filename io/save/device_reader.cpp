// Copies from device memory, on a stream of their own.
#include "io/save/device_reader.hpp"

namespace sherd::io {

DeviceReader::DeviceReader(runtime::Device& device)
    : device_(device.shared_from_this()), stream_(device.make_stream()) {
  stream_->wait(device.compute_stream().record());
}

void DeviceReader::read(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  device_->make_current();
  stream_->copy(to, from, static_cast<std::size_t>(bytes));
  stream_->record().synchronize();
}

}  // namespace sherd::io
