#include "sherd/weights/generate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sherd/autograd/function.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/mix64.hpp"
#include "weights/checkpoint_model.hpp"

namespace sherd::weights {
namespace {

constexpr std::int64_t kBytes = 256;

/// Values in [0, 1) that are a function of (seed, how many were drawn) alone.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : state_(mix64(seed)) {}
  double next() { return static_cast<double>(mix64(state_++) >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// Draws from softmax(logits / temperature); the likeliest when temperature is 0.
std::int32_t sample(const float* logits, double temperature, Uniform& uniform) {
  const float* best = std::max_element(logits, logits + kBytes);
  if (temperature <= 0.0) {
    return static_cast<std::int32_t>(best - logits);
  }
  std::vector<double> sums(kBytes);
  double sum = 0.0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sum += std::exp((static_cast<double>(logits[i]) - static_cast<double>(*best)) / temperature);
    sums[i] = sum;
  }
  const auto found = std::upper_bound(sums.begin(), sums.end(), uniform.next() * sum);
  return static_cast<std::int32_t>(std::min<std::ptrdiff_t>(found - sums.begin(), kBytes - 1));
}

/// Logits of the token after `tokens`, the last `window` of them.
Tensor next_logits(const LoadedModel& model, const std::vector<std::int32_t>& tokens) {
  const auto window =
      std::min(static_cast<std::int64_t>(tokens.size()), model.facts.longest_sequence);
  const Tensor ids = Tensor::empty({1, window}, DType::i32);
  std::copy(tokens.end() - window, tokens.end(), ids.data<std::int32_t>());
  const Tensor logits = (*model.module)(nn::Variable(ids)).data();
  const std::int64_t vocab = model.facts.vocab_size;
  return to_dtype(logits.slice((window - 1) * vocab, vocab), DType::f32);
}

}  // namespace

LoadedModel load_model(const io::CheckpointReader& checkpoint) {
  const models::ModelSpec spec = model_of(checkpoint);
  LoadedModel model{spec.facts(), spec.make()};
  for (const nn::NamedParameter& named : nn::named_parameters(*model.module)) {
    const std::string key = checkpoint_key(named.name);
    const auto& tensors = checkpoint.tensors();
    const auto info = std::find_if(tensors.begin(), tensors.end(),
                                   [&](const io::TensorInfo& each) { return each.key == key; });
    nn::Variable value = named.value;
    validate(info != tensors.end() && info->shape == value.shape(),
             "tensor '" + key +
                 "' of the checkpoint is missing or has another shape than its "
                 "configuration says");
    const Tensor stored = Tensor::empty({info->shape.numel()}, info->dtype);
    checkpoint.read(key, 0, stored);
    value.set_data(to_dtype(stored, DType::f32).reshape(info->shape));
  }
  return model;
}

void generate(const LoadedModel& model, std::string_view prompt, const GenerateOptions& options,
              const std::function<void(char)>& sink) {
  validate(!prompt.empty(), "--prompt: is empty (the model continues a text). Try: --prompt 'In '");
  validate(model.facts.vocab_size >= kBytes,
           "the model's tokens are not bytes (its vocabulary is smaller than 256)");
  const autograd::GradMode no_grad(false);
  std::vector<std::int32_t> tokens;
  for (const char c : prompt) {
    tokens.push_back(static_cast<unsigned char>(c));
  }
  Uniform uniform(options.seed);
  for (std::int64_t i = 0; i < options.max_tokens; ++i) {
    const Tensor logits = next_logits(model, tokens);
    tokens.push_back(sample(logits.data<float>(), options.temperature, uniform));
    sink(static_cast<char>(static_cast<unsigned char>(tokens.back())));
  }
}

}  // namespace sherd::weights
