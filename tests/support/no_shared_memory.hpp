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
  std::unique_ptr<comm::Communicator> duplicate() override {
    return std::make_unique<NoSharedMemory>(inner_->duplicate());
  }

 private:
  comm::Work start(const comm::Collective& collective) override {
    return inner_->issue(collective);
  }

  std::unique_ptr<comm::Communicator> inner_;
};

}  // namespace sherd::testing
