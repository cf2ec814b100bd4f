#include "sherd/nn/module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/autograd/function.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/error.hpp"
#include "sherd/nn/layers.hpp"

namespace sherd::nn {
namespace {

using testing::ElementsAre;

/// A user's own model: two layers, the second tied to the first, in a list.
class TwoLayers : public Module {
 public:
  TwoLayers() {
    auto first = std::make_shared<Linear>(4, 4, true);
    scale_ = register_parameter("scale", {4}, InitSpec::ones());
    layers_ = register_module("layers", std::make_shared<ModuleList>());
    layers_->push_back(first);
    layers_->push_back(std::make_shared<TiedLinear>(first->weight()));
  }
  Variable forward(const Variable& x) override {
    return autograd::rms_norm((*layers_)(x), scale_, 1e-5);
  }
  [[nodiscard]] ModuleList& layers() { return *layers_; }

 private:
  Variable scale_;
  std::shared_ptr<ModuleList> layers_;
};

TEST(Module, NamesParametersOnceWithAliases) {
  const TwoLayers model;
  std::vector<std::string> names;
  std::vector<std::string> aliases;
  for (const NamedParameter& each : named_parameters(model)) {
    names.push_back(each.name);
    aliases.insert(aliases.end(), each.aliases.begin(), each.aliases.end());
  }
  EXPECT_THAT(names, ElementsAre("scale", "layers.0.weight", "layers.0.bias"));
  EXPECT_THAT(aliases, ElementsAre("layers.1.weight"));
}

TEST(Module, NamesModulesDepthFirst) {
  TwoLayers model;
  std::vector<std::string> names;
  for (const auto& [name, module] : named_modules(model)) {
    names.push_back(name);
    EXPECT_NE(module, nullptr);
  }
  EXPECT_THAT(names, ElementsAre("", "layers", "layers.0", "layers.1"));
}

TEST(Module, ParametersTakeNoMemoryUntilMaterialized) {
  const TwoLayers model;
  for (const NamedParameter& each : named_parameters(model)) {
    EXPECT_TRUE(each.value.data().is_meta());
    EXPECT_TRUE(each.value.requires_grad());
  }
  materialize(model, 3);
  for (const NamedParameter& each : named_parameters(model)) {
    EXPECT_FALSE(each.value.data().is_meta());
    EXPECT_EQ(each.value.dtype(), DType::f32);
  }
}

TEST(Module, InitialValuesAreThoseOfTheName) {
  const TwoLayers model;
  materialize(model, 3, DType::f64);
  const auto weight = named_parameters(model)[1];
  const Tensor expected = Tensor::empty({16}, DType::f64);
  fill_initial(InitSpec::normal(0.02), 3, "layers.0.weight", 0, expected);
  EXPECT_TRUE(std::equal(expected.span<double>().begin(), expected.span<double>().end(),
                         weight.value.data().span<double>().begin()));
}

TEST(Module, MaterializeRoundsToTheTypeAskedFor) {
  const TwoLayers narrow;
  const TwoLayers wide;
  materialize(narrow, 3, DType::bf16);
  materialize(wide, 3);
  const Tensor rounded = to_dtype(named_parameters(wide)[1].value.data(), DType::bf16);
  const Tensor found = named_parameters(narrow)[1].value.data();
  ASSERT_EQ(found.dtype(), DType::bf16);
  EXPECT_TRUE(std::equal(found.raw(), found.raw() + found.nbytes(), rounded.raw()));
}

TEST(Module, HooksSurroundForwardAndMayReplaceValues) {
  TwoLayers model;
  materialize(model, 1);
  std::vector<std::string> log;
  for (const auto& [name, module] : named_modules(model)) {
    EXPECT_FALSE(module->has_hooks());
    module->set_hooks({.before =
                           [&log, n = name](Module&, const Variable& x) {
                             log.push_back("before " + n);
                             return x;
                           },
                       .after =
                           [&log, n = name](Module&, const Variable& y) {
                             log.push_back("after " + n);
                             return autograd::add(y, y);
                           }});
    EXPECT_TRUE(module->has_hooks());
  }
  const Variable x(Tensor::zeros({2, 4}, DType::f32));
  (void)model(x);
  EXPECT_THAT(log, ElementsAre("before ", "before layers", "before layers.0", "after layers.0",
                               "before layers.1", "after layers.1", "after layers", "after "));
}

TEST(Module, TiedWeightsReceiveBothGradients) {
  TwoLayers model;
  materialize(model, 1, DType::f64);
  const Variable x(Tensor::zeros({2, 4}, DType::f64));
  x.data().span<double>()[1] = 1.0;
  autograd::backward(model(x));
  const Tensor both = named_parameters(model)[1].value.grad();
  ASSERT_TRUE(both.defined());
  EXPECT_EQ(both.shape(), (Shape{4, 4}));
}

class Misnamed : public Module {
 public:
  explicit Misnamed(const std::string& name) {
    (void)register_parameter("weight", {1}, InitSpec::ones());
    (void)register_parameter(name, {1}, InitSpec::ones());
  }
  Variable forward(const Variable& x) override { return x; }
};

TEST(Module, RefusesNamesThatCannotBeToldApart) {
  EXPECT_THROW(Misnamed("weight"), ArgumentError);
  EXPECT_THROW(Misnamed("a.b"), ArgumentError);
  EXPECT_THROW(Misnamed(""), ArgumentError);
}

}  // namespace
}  // namespace sherd::nn
