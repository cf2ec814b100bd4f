#pragma once

#include <chrono>
#include <string>

#include "comm/nccl/nccl_api.hpp"
#include "sherd/comm/work.hpp"

namespace sherd::comm::nccl {

/// Complete when the stream has reached the event behind the operation.
class NcclWork final : public WorkState {
 public:
  NcclWork(std::string what, EventHandle event, ncclComm_t comm);

  bool test() override;
  void wait() override;

 private:
  std::string what_;
  std::chrono::milliseconds timeout_;
  EventHandle event_;
  ncclComm_t comm_;
};

}  // namespace sherd::comm::nccl
