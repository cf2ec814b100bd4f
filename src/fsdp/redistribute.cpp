// Tensors go from one way of being cut to another, one whole tensor at a time.
#include "fsdp/redistribute.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// The whole of a tensor of which every rank holds a run; all ranks get it.
std::vector<std::byte> assemble(const dtensor::DTensor& tensor, comm::Communicator& world) {
  const std::size_t width = size_of(tensor.spec.dtype);
  const std::int64_t mine[2] = {tensor.spec.offset, tensor.spec.numel};
  std::vector<std::int64_t> runs(2 * static_cast<std::size_t>(world.size()));
  world.all_gather(mine, runs.data(), 2, DType::i64).wait();
  std::int64_t most = 0;
  for (std::size_t i = 1; i < runs.size(); i += 2) {
    most = std::max(most, runs[i]);
  }
  const std::size_t padded = static_cast<std::size_t>(most) * width;
  std::vector<std::byte> part(padded);
  if (tensor.local.nbytes() > 0) {
    std::memcpy(part.data(), to_host(tensor.local).raw(), tensor.local.nbytes());
  }
  std::vector<std::byte> parts(padded * static_cast<std::size_t>(world.size()));
  world.all_gather(part.data(), parts.data(), padded, DType::u8).wait();
  std::vector<std::byte> whole(static_cast<std::size_t>(tensor.spec.global_shape.numel()) * width);
  for (std::size_t rank = 0; rank < runs.size() / 2; ++rank) {
    const auto bytes = static_cast<std::size_t>(runs[2 * rank + 1]) * width;
    if (bytes > 0) {
      std::memcpy(whole.data() + static_cast<std::size_t>(runs[2 * rank]) * width,
                  parts.data() + rank * padded, bytes);
    }
  }
  return whole;
}

}  // namespace

void redistribute(const dtensor::StateDict& from, const dtensor::StateDict& to,
                  comm::Communicator& world) {
  for (const auto& [name, target] : to.tensors) {
    const auto source = from.tensors.find(name);
    expect(source != from.tensors.end() && source->second.spec.dtype == target.spec.dtype,
           "redistribute: a tensor is missing or of another dtype");
    const std::vector<std::byte> whole = assemble(source->second, world);
    if (target.local.nbytes() > 0) {
      const Tensor values = Tensor::empty(target.local.shape(), target.spec.dtype);
      std::memcpy(
          values.raw(),
          whole.data() + static_cast<std::size_t>(target.spec.offset) * size_of(target.spec.dtype),
          values.nbytes());
      copy(values, target.local);
    }
  }
}

}  // namespace sherd::fsdp
