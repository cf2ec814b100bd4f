#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "sherd/runtime/device.hpp"

namespace sherd::runtime {

struct CountingOptions {
  /// Whether bf16 products are taken to be the processor's own; where they are not, and for f16,
  /// the f32 copies of a product's operands and result are counted while it would run.
  bool native_bf16 = true;
  int threads = 1;  ///< that would compute: each counts the memory it would take for itself
  /// Called after every allocation of device memory with all that is in use.
  std::function<void(std::size_t live_bytes)> on_allocate = {};
};

/// A device that computes nothing and holds nothing: device memory is addresses of a reservation
/// that nobody can touch (SIGSEGV), work given to its streams is dropped, and what is counted are
/// the bytes that a step on the *host* would hold. Kernels take the host's form there, so that
/// their temporaries are counted, too. It has no pinned memory. One thread uses it. Local.
[[nodiscard]] std::shared_ptr<Device> make_counting(CountingOptions options = {});

}  // namespace sherd::runtime
