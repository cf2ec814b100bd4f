#include "sherd/config/training_device.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "sherd/base/check.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "sherd/runtime/findings.hpp"

namespace sherd::config {
namespace {

constexpr std::string_view kEmulated = "emulated";

/// The seed of SHERD_TEST_DEVICE; nothing when it is not set.
std::optional<std::uint64_t> emulated_seed() {
  const char* told = std::getenv("SHERD_TEST_DEVICE");
  if (told == nullptr) {
    return std::nullopt;
  }
  const std::string_view text = told;
  const bool plain = text == kEmulated;
  const std::string_view digits =
      text.starts_with("emulated:") ? text.substr(kEmulated.size() + 1) : "";
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  validate(plain || (error == std::errc() && end == digits.data() + digits.size()),
           fmt::format("SHERD_TEST_DEVICE is '{}' (it is for tests). Try: emulated, emulated:7, or "
                       "unsetting it",
                       text));
  return seed;
}

}  // namespace

bool device_is_emulated() { return emulated_seed().has_value(); }

std::shared_ptr<runtime::Device> open_training_device(const FsdpConfig& config,
                                                      const runtime::Topology& topology) {
  if (config.device == "cpu") {
    return nullptr;
  }
  if (const auto seed = emulated_seed()) {
    const auto rank = static_cast<std::uint64_t>(topology.rank);
    return runtime::make_emulated({.seed = *seed * 1000 + rank});
  }
  runtime::refuse_shared_gpus(topology);
  return runtime::open_cuda(topology.gpu_of_rank.at(static_cast<std::size_t>(topology.rank)));
}

}  // namespace sherd::config
