#include "train/test_divergence.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd::train {

Divergence told_to_diverge(int rank, std::int64_t step) {
  const char* variable = std::getenv("SHERD_TEST_DIVERGE");
  if (variable == nullptr) {
    return Divergence::none;
  }
  constexpr std::array kinds = {std::pair{"skip_layer", Divergence::skip_layer},
                                std::pair{"extra_micro_batch", Divergence::extra_micro_batch},
                                std::pair{"nan", Divergence::nan}};
  const std::string told = variable;
  for (const auto& [name, kind] : kinds) {
    if (told.substr(0, told.find(':')) == name) {
      return told == fmt::format("{}:{}:{}", name, rank, step) ? kind : Divergence::none;
    }
  }
  throw ConfigError("SHERD_TEST_DIVERGE is '" + told +
                    "'. Try: skip_layer, extra_micro_batch or nan, then :rank:step");
}

nn::Variable forward_without_a_layer(fsdp::ShardedModel& model, const nn::Variable& input) {
  return model.run(input, [&](const nn::Variable& x) {
    nn::Variable y = x;
    for (const auto& [name, child] : model.module().children()) {
      if (name != "layers") {
        y = (*child)(y);
        continue;
      }
      for (std::size_t i = 1; i < child->children().size(); ++i) {
        y = (*child->children()[i].second)(y);
      }
    }
    return y;
  });
}

}  // namespace sherd::train
