#pragma once

#include <memory>
#include <utility>

#include "sherd/comm/communicator.hpp"

namespace sherd::testing {

/// A communicator that works as the one it holds but cannot share memory, as across nodes.
class NoSharedMemory : public comm::Communicator {
 public:
  explicit NoSharedMemory(std::unique_ptr<comm::Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::string_view backend() const noexcept override { return inner_->backend(); }
  comm::Work all_gather(const void* shard, void* full, std::size_t count, DType dtype) override {
    return inner_->all_gather(shard, full, count, dtype);
  }
  comm::Work reduce_scatter(const void* full, void* shard, std::size_t count, DType dtype,
                            comm::ReduceOp op) override {
    return inner_->reduce_scatter(full, shard, count, dtype, op);
  }
  comm::Work all_reduce(const void* in, void* out, std::size_t count, DType dtype,
                        comm::ReduceOp op) override {
    return inner_->all_reduce(in, out, count, dtype, op);
  }
  comm::Work broadcast(void* data, std::size_t count, DType dtype, int root) override {
    return inner_->broadcast(data, count, dtype, root);
  }
  void barrier() override { inner_->barrier(); }
  std::unique_ptr<comm::SharedRegion> allocate_shared(std::size_t) override { return nullptr; }
  std::unique_ptr<comm::EpochBoard> make_epoch_board(std::size_t) override { return nullptr; }
  std::unique_ptr<comm::Communicator> duplicate() override {
    return std::make_unique<NoSharedMemory>(inner_->duplicate());
  }

 private:
  std::unique_ptr<comm::Communicator> inner_;
};

}  // namespace sherd::testing
