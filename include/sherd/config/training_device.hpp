#pragma once

#include <memory>

#include "sherd/config/train_config.hpp"
#include "sherd/runtime/device.hpp"
#include "sherd/runtime/topology.hpp"

namespace sherd::config {

/// The device this rank trains on; null for device: cpu. Throws ConfigError when it cannot be had.
/// For tests, SHERD_TEST_DEVICE=emulated (or emulated:SEED) makes device: cuda mean an emulated one
/// in any build.
[[nodiscard]] std::shared_ptr<runtime::Device> open_training_device(
    const FsdpConfig& config, const runtime::Topology& topology);

/// Whether SHERD_TEST_DEVICE says so.
[[nodiscard]] bool device_is_emulated();

}  // namespace sherd::config
