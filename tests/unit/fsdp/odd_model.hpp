#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sherd/autograd/function.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/nn/layers.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::testing {

/// x + gain * tanh(x W1^T + b1) W2^T with odd sizes, a 0-d-like gain kept as one element, a
/// parameter without elements and, if asked, a frozen first layer.
class OddBlock : public nn::Module {
 public:
  OddBlock(std::int64_t dim, std::int64_t hidden, bool freeze_first,
           std::optional<autograd::Recompute> recompute = std::nullopt)
      : recompute_(recompute) {
    first_ = register_module("first", std::make_shared<nn::Linear>(dim, hidden, true, 0.3));
    second_ = register_module("second", std::make_shared<nn::Linear>(hidden, dim, false, 0.3));
    nothing_ = register_parameter("nothing", {0, 3}, nn::InitSpec::zeros());
    if (freeze_first) {
      nn::Variable weight = first_->weight();
      weight.set_requires_grad(false);
    }
  }

  nn::Variable forward(const nn::Variable& x) override {
    return recompute_ ? autograd::checkpoint([this](const nn::Variable& y) { return body(y); }, x,
                                             *recompute_)
                      : body(x);
  }

 private:
  nn::Variable body(const nn::Variable& x) const {
    const auto hidden = autograd::activation(kernel::Activation::tanh, (*first_)(x));
    return autograd::add(x, (*second_)(hidden));
  }

  std::optional<autograd::Recompute> recompute_;
  std::shared_ptr<nn::Linear> first_;
  std::shared_ptr<nn::Linear> second_;
  nn::Variable nothing_;
};

struct OddModelOptions {
  std::int64_t dim = 5;
  std::vector<std::int64_t> hidden = {7, 3, 11};
  bool freeze = false;                         ///< the first layer of every block
  std::vector<std::size_t> order = {0, 1, 2};  ///< blocks forward runs, may repeat or leave out
  std::optional<autograd::Recompute> recompute = std::nullopt;  ///< activation checkpointing
};

/// Input layer, a list of blocks of different sizes, output layer, an unused parameter.
class OddModel : public nn::Module {
 public:
  explicit OddModel(OddModelOptions options) : options_(std::move(options)) {
    in_ = register_module("in", std::make_shared<nn::Linear>(4, options_.dim, true, 0.5));
    blocks_ = std::make_shared<nn::ModuleList>();
    for (const std::int64_t hidden : options_.hidden) {
      blocks_->push_back(
          std::make_shared<OddBlock>(options_.dim, hidden, options_.freeze, options_.recompute));
    }
    register_module("blocks", blocks_);
    out_ = register_module("out", std::make_shared<nn::Linear>(options_.dim, 3, true, 0.5));
    unused_ = register_parameter("unused", {2, 2}, nn::InitSpec::ones());
  }

  nn::Variable forward(const nn::Variable& x) override {
    nn::Variable y = (*in_)(x);
    for (const std::size_t block : options_.order) {
      y = (*blocks_)[block](y);
    }
    return (*out_)(y);
  }

  void set_order(std::vector<std::size_t> order) { options_.order = std::move(order); }

 private:
  OddModelOptions options_;
  std::shared_ptr<nn::Linear> in_;
  std::shared_ptr<nn::ModuleList> blocks_;
  std::shared_ptr<nn::Linear> out_;
  nn::Variable unused_;
};

/// Row r of a made-up data set: 4 inputs and 3 targets.
inline double odd_value(std::int64_t row, std::int64_t column) {
  return static_cast<double>((row * 37 + column * 101 + row * column) % 23) / 11.0 - 1.0;
}

inline Tensor odd_rows(std::int64_t first, std::int64_t count, std::int64_t columns,
                       std::int64_t salt, DType dtype) {
  const Tensor rows = Tensor::empty({count, columns}, DType::f64);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      rows.data<double>()[r * columns + c] = odd_value(first + r + salt, c);
    }
  }
  return to_dtype(rows, dtype);
}

}  // namespace sherd::testing
