#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "comm/nccl/nccl_api.hpp"
#include "comm/nccl/nccl_connection.hpp"
#include "sherd/comm/work.hpp"

namespace sherd::comm::nccl {

/// Complete when the stream has reached the event behind the operation.
class NcclWork final : public WorkState {
 public:
  NcclWork(std::string what, EventHandle event, std::shared_ptr<Connection> connection);

  bool test() override;
  void wait() override;

 private:
  std::string what_;
  std::chrono::milliseconds timeout_;
  EventHandle event_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace sherd::comm::nccl
