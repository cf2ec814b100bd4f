#include "train/weights_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sherd/base/fnv1a.hpp"
#include "sherd/config/options.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::train {
namespace {

constexpr std::size_t kMostTensors = 64;
constexpr std::int64_t kMostElements = 256;

}  // namespace

std::vector<comm::Fact> weights_facts(const weights::HfWeights& weights,
                                      const config::TrainConfig& config) {
  const auto module = config::make_model(config);
  const auto parameters = nn::named_parameters(*module);
  const std::size_t step = std::max<std::size_t>(1, parameters.size() / kMostTensors);
  std::vector<comm::Fact> facts;
  for (std::size_t i = 0; i < parameters.size(); i += step) {
    const std::int64_t numel = std::min(kMostElements, parameters[i].value.shape().numel());
    const Tensor first = Tensor::zeros(Shape{numel}, DType::f32);
    weights.fill(parameters[i].name, 0, first);
    const std::string_view bytes(reinterpret_cast<const char*>(first.raw()), first.nbytes());
    facts.push_back(
        {fmt::format("the beginning of tensor {} of model.init_from", parameters[i].name),
         fmt::format("digest {:016x}", fnv1a(bytes))});
  }
  return facts;
}

}  // namespace sherd::train
