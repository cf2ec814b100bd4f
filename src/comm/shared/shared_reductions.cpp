#include <vector>

#include "comm/reduce/reduce.hpp"
#include "comm/shared/chunks.hpp"
#include "comm/shared/shared_communicator.hpp"

namespace sherd::comm {

void SharedCommunicator::start_reduce_scatter(const Collective& c) {
  const std::size_t bytes = c.bytes() * static_cast<std::size_t>(size());
  const Operation operation =
      located({OperationKind::reduce_scatter, c.dtype, c.op, 0, c.count}, c.in, bytes);
  if (bytes > kSmallBytes) {
    if (announce(operation)) {
      scatter_in_place(static_cast<std::byte*>(c.out), operation);
      finish_in_place(operation);
      return;
    }
    steps_.close();
  }
  scatter_staged(static_cast<const std::byte*>(c.in), static_cast<std::byte*>(c.out), operation);
}

void SharedCommunicator::scatter_in_place(std::byte* shard, const Operation& operation) {
  const std::size_t bytes = operation.count * size_of(operation.dtype);
  std::vector<const void*> inputs;
  for (int peer = 0; peer < size(); ++peer) {
    inputs.push_back(buffer_of(peer) + bytes * static_cast<std::size_t>(rank()));
  }
  reduce(shard, inputs, operation.count, operation.dtype, operation.op, destination_of(bytes));
}

/// Chunk by chunk of every piece: each rank stages what the others own and reads what it owns.
void SharedCommunicator::scatter_staged(const std::byte* full, std::byte* shard,
                                        const Operation& operation) {
  const auto ranks = static_cast<std::size_t>(size());
  const auto me = static_cast<std::size_t>(rank());
  const std::size_t width = size_of(operation.dtype);
  const std::size_t chunk = elements_in_lines(steps_.capacity() / ranks, width);
  const Destination destination = destination_of(operation.count * width);
  std::vector<const void*> inputs(ranks);
  std::size_t begin = 0;
  do {
    const std::size_t n = std::min(chunk, operation.count - begin);
    const auto piece = [&](std::size_t r) { return full + (r * operation.count + begin) * width; };
    std::byte* staged = steps_.open();
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      if (peer != me) {
        stage(staged + peer * chunk * width, piece(peer), n * width);
      }
    }
    steps_.publish(operation);
    steps_.await(operation);
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      inputs[peer] = steps_.staged_by(static_cast<int>(peer)) + me * chunk * width;
    }
    inputs[me] = piece(me);
    reduce(shard + begin * width, inputs, n, operation.dtype, operation.op, destination);
    steps_.close();
    begin += n;
  } while (begin < operation.count);
}

void SharedCommunicator::start_all_reduce(const Collective& c) {
  const Operation operation{OperationKind::all_reduce, c.dtype, c.op, 0, c.count};
  const auto* from = static_cast<const std::byte*>(c.in);
  auto* to = static_cast<std::byte*>(c.out);
  if (c.bytes() <= kSmallBytes) {
    reduce_small(from, to, operation);
  } else {
    reduce_large(from, to, operation);
  }
}

/// Every rank reduces everything: one synchronisation.
void SharedCommunicator::reduce_small(const std::byte* in, std::byte* out,
                                      const Operation& operation) {
  copy_bytes(steps_.open(), in, operation.count * size_of(operation.dtype));
  steps_.publish(operation);
  steps_.await(operation);
  std::vector<const void*> inputs;
  for (int peer = 0; peer < size(); ++peer) {
    inputs.push_back(steps_.staged_by(peer));
  }
  reduce(out, inputs, operation.count, operation.dtype, operation.op);
  steps_.close();
}

void SharedCommunicator::reduce_large(const std::byte* in, std::byte* out,
                                      const Operation& operation) {
  const std::size_t width = size_of(operation.dtype);
  const std::size_t chunk = steps_.capacity() / width;
  for (std::size_t begin = 0; begin < operation.count; begin += chunk) {
    const std::size_t n = std::min(chunk, operation.count - begin);
    reduce_chunk(in + begin * width, out + begin * width, n, operation);
  }
}

/// One step in which each rank reduces its part of the chunk, one in which all take all parts.
void SharedCommunicator::reduce_chunk(const std::byte* in, std::byte* out, std::size_t count,
                                      const Operation& operation) {
  const auto ranks = static_cast<std::size_t>(size());
  const auto me = static_cast<std::size_t>(rank());
  const std::size_t width = size_of(operation.dtype);
  const EvenParts parts(count, ranks, width);

  std::byte* staged = steps_.open();
  stage(staged, in, parts.begin(me) * width);
  stage(staged + parts.end(me) * width, in + parts.end(me) * width,
        (count - parts.end(me)) * width);
  steps_.publish(operation);
  steps_.await(operation);
  std::vector<const void*> inputs;
  for (int peer = 0; peer < size(); ++peer) {
    inputs.push_back(steps_.staged_by(peer) + parts.begin(me) * width);
  }
  inputs[me] = in + parts.begin(me) * width;
  std::byte* result = out + parts.begin(me) * width;
  reduce(result, inputs, parts.size(me), operation.dtype, operation.op);
  steps_.close();

  const Destination destination = destination_of(operation.count * width);
  stage(steps_.open(), result, parts.size(me) * width);
  steps_.publish(operation);
  steps_.await(operation);
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    if (peer != me) {
      copy_out(out + parts.begin(peer) * width, steps_.staged_by(static_cast<int>(peer)),
               parts.size(peer) * width, destination);
    }
  }
  steps_.close();
}

}  // namespace sherd::comm
