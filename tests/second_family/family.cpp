// The whole of a second architecture: what a family file consists of.
#include "family.hpp"

#include <nlohmann/json.hpp>

#include "layer_norm.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"
#include "sherd/nn/layers.hpp"

namespace sherd::second_family {
namespace {

using nn::Variable;

struct Sizes {
  std::int64_t vocab_size = 256;
  std::int64_t n_embd = 32;
  std::int64_t n_layer = 2;
  std::int64_t n_head = 4;
  std::int64_t n_positions = 64;
};

const Sizes& in(const models::Sizes& sizes) { return std::any_cast<const Sizes&>(sizes); }

class Attention : public nn::Module {
 public:
  explicit Attention(const Sizes& sizes) : head_dim_(sizes.n_embd / sizes.n_head) {
    for (const char* name : {"q", "k", "v", "proj"}) {
      parts_.push_back(
          register_module(name, std::make_shared<nn::Linear>(sizes.n_embd, sizes.n_embd)));
    }
  }
  Variable forward(const Variable& x) override {
    std::vector<Variable> packed;
    for (std::size_t i = 0; i < 3; ++i) {  // no tables: packed by heads without a rotation
      packed.push_back(autograd::rope((*parts_[i])(x), head_dim_, nullptr));
    }
    return (*parts_[3])(autograd::attention(packed[0], packed[1], packed[2]));
  }

 private:
  std::int64_t head_dim_;
  std::vector<std::shared_ptr<nn::Linear>> parts_;
};

class Mlp : public nn::Module {
 public:
  explicit Mlp(std::int64_t width)
      : fc_(register_module("fc", std::make_shared<nn::Linear>(width, 4 * width))),
        proj_(register_module("proj", std::make_shared<nn::Linear>(4 * width, width))) {}
  Variable forward(const Variable& x) override {
    return (*proj_)(autograd::activation(kernel::Activation::gelu_tanh, (*fc_)(x)));
  }

 private:
  std::shared_ptr<nn::Module> fc_, proj_;
};

class Block : public nn::Module {
 public:
  Block(const Sizes& sizes, std::optional<autograd::Recompute> recompute)
      : recompute_(recompute),
        ln_1_(register_module("ln_1", std::make_shared<LayerNorm>(sizes.n_embd, 1e-5))),
        attn_(register_module("attn", std::make_shared<Attention>(sizes))),
        ln_2_(register_module("ln_2", std::make_shared<LayerNorm>(sizes.n_embd, 1e-5))),
        mlp_(register_module("mlp", std::make_shared<Mlp>(sizes.n_embd))) {}
  Variable forward(const Variable& x) override {
    const auto body = [this](const Variable& input) {
      const Variable h = autograd::add(input, (*attn_)((*ln_1_)(input)));
      return autograd::add(h, (*mlp_)((*ln_2_)(h)));
    };
    return recompute_ ? autograd::checkpoint(body, x, *recompute_) : body(x);
  }

 private:
  std::optional<autograd::Recompute> recompute_;
  std::shared_ptr<nn::Module> ln_1_, attn_, ln_2_, mlp_;
};

class Decoder : public nn::Module {
 public:
  Decoder(const Sizes& sizes, std::optional<autograd::Recompute> recompute)
      : wte_(register_module("wte",
                             std::make_shared<nn::Embedding>(sizes.vocab_size, sizes.n_embd))),
        wpe_(register_module("wpe",
                             std::make_shared<nn::Embedding>(sizes.n_positions, sizes.n_embd))),
        layers_(register_module("layers", std::make_shared<nn::ModuleList>())),
        ln_f_(register_module("ln_f", std::make_shared<LayerNorm>(sizes.n_embd, 1e-5))),
        head_(register_module(
            "lm_head", std::make_shared<nn::Linear>(sizes.n_embd, sizes.vocab_size, false))) {
    for (std::int64_t i = 0; i < sizes.n_layer; ++i) {
      layers_->push_back(std::make_shared<Block>(sizes, recompute));
    }
  }
  Variable forward(const Variable& ids) override {
    const Tensor positions = Tensor::empty(ids.shape(), DType::i32);
    for (std::int64_t i = 0; i < positions.numel(); ++i) {
      positions.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % ids.shape()[1]);
    }
    const Variable x = autograd::add((*wte_)(ids), (*wpe_)(Variable(positions)));
    return (*head_)((*ln_f_)((*layers_)(x)));
  }

 private:
  std::shared_ptr<nn::Module> wte_, wpe_;
  std::shared_ptr<nn::ModuleList> layers_;
  std::shared_ptr<nn::Module> ln_f_, head_;
};

models::DecoderFacts facts(const models::Sizes& sizes) {
  const Sizes& s = in(sizes);
  const std::int64_t block = 12 * s.n_embd * s.n_embd + 13 * s.n_embd;
  return {.vocab_size = s.vocab_size,
          .longest_sequence = s.n_positions,
          .longest_sequence_key = "n_positions",
          .blocks = s.n_layer,
          .parameters = (2 * s.vocab_size + s.n_positions + 2) * s.n_embd + s.n_layer * block};
}

models::Sizes parse(const std::string& json, const std::string& where, models::ReadFor) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  const auto size = [&](const char* key) {
    validate(value.is_object() && value.contains(key), where + " has no " + key);
    return value[key].get<std::int64_t>();
  };
  return Sizes{size("vocab_size"), size("n_embd"), size("n_layer"), size("n_head"),
               size("n_positions")};
}

std::string write(const models::Sizes& sizes, DType) {
  const Sizes& s = in(sizes);
  return nlohmann::ordered_json{{"architectures", {"TinyGptLMHeadModel"}},
                                {"model_type", "tiny_gpt"},
                                {"vocab_size", s.vocab_size},
                                {"n_embd", s.n_embd},
                                {"n_layer", s.n_layer},
                                {"n_head", s.n_head},
                                {"n_positions", s.n_positions}}
             .dump(2) +
         "\n";
}

}  // namespace

models::ModelFamily make_family() {
  return {.name = "tiny_gpt",
          .architecture = "TinyGptLMHeadModel",
          .fields = {models::field("vocab_size", "token ids", "256", &Sizes::vocab_size),
                     models::field("n_embd", "width", "32", &Sizes::n_embd),
                     models::field("n_layer", "blocks", "2", &Sizes::n_layer),
                     models::field("n_head", "heads", "4", &Sizes::n_head),
                     models::field("n_positions", "longest sequence", "64", &Sizes::n_positions)},
          .presets = {{"tiny_gpt", Sizes{}}},
          .defaults = [] { return models::Sizes(Sizes{}); },
          .check =
              [](const models::Sizes& sizes) {
                validate(in(sizes).n_embd % in(sizes).n_head == 0,
                         "model.n_embd is no multiple of n_head (heads share it). Try: 32 and 4");
              },
          .facts = facts,
          .parse = parse,
          .write = write,
          .make =
              [](const models::Sizes& sizes, std::optional<autograd::Recompute> recompute) {
                return std::shared_ptr<nn::Module>(std::make_shared<Decoder>(in(sizes), recompute));
              },
          .hf_name = [](std::string_view name) { return "transformer." + std::string(name); }};
}

}  // namespace sherd::second_family
