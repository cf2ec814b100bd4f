#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "comm/nccl/nccl_library.hpp"

namespace sherd::test {

/// NCCL as a script: what each call and each look at the state answers. What is not scripted
/// succeeds at once.
class FakeNccl : public comm::nccl::Library {
 public:
  using Result = comm::nccl::Result;

  Result init_result = Result::success;
  Result finalize_result = Result::success;
  Result operation_result = Result::success;
  /// Answers of async_error() in order; then `state` for ever.
  std::deque<Result> states;
  Result state = Result::success;
  std::string detail;
  std::vector<std::string> calls;  ///< all but async_error
  std::function<void()> on_ask;    ///< called by async_error

  [[nodiscard]] bool called(const std::string& name) const {
    for (const std::string& call : calls) {
      if (call == name) {
        return true;
      }
    }
    return false;
  }

  Result make_id(comm::nccl::UniqueId& id) override {
    id.bytes[0] = std::byte{1};
    return noted("make_id", Result::success);
  }
  Result init(Comm*& comm, int, const comm::nccl::UniqueId&, int) override {
    comm = reinterpret_cast<Comm*>(this);
    return noted("init", init_result);
  }
  Result async_error(Comm*, Result& out) override {
    if (on_ask) {
      on_ask();
    }
    out = state;
    if (!states.empty()) {
      out = states.front();
      states.pop_front();
    }
    return Result::success;
  }
  Result finalize(Comm*) override { return noted("finalize", finalize_result); }
  Result destroy(Comm*) override { return noted("destroy", Result::success); }
  Result abort(Comm*) override { return noted("abort", Result::success); }

  Result all_gather(const void*, void*, std::size_t, DType, Comm*, void*) override {
    return noted("all_gather", operation_result);
  }
  Result reduce_scatter(const void*, void*, std::size_t, DType, comm::ReduceOp, Comm*,
                        void*) override {
    return noted("reduce_scatter", operation_result);
  }
  Result all_reduce(const void*, void*, std::size_t, DType, comm::ReduceOp, Comm*, void*) override {
    return noted("all_reduce", operation_result);
  }
  Result broadcast(void*, std::size_t, DType, int, Comm*, void*) override {
    return noted("broadcast", operation_result);
  }
  std::string explain(Result result, Comm*) override {
    return "result " + std::to_string(static_cast<int>(result)) + " " + detail;
  }

 protected:
  Result noted(const char* name, Result result) {
    calls.emplace_back(name);
    return result;
  }
};

}  // namespace sherd::test
