// A network of your own, sharded over all ranks: learns z = sin(3x) * cos(2y) on a square.
//   mpirun -n 3 ./01_user_mlp
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>

#include "sherd/sherd.hpp"

namespace {

using sherd::Tensor;
using sherd::nn::Variable;

constexpr std::int64_t kWidth = 63;

class Mlp : public sherd::nn::Module {
 public:
  Mlp() {
    for (const std::int64_t inputs : {std::int64_t{2}, kWidth, kWidth}) {
      const double spread = 1.5 / std::sqrt(double(inputs));
      hidden_->push_back(std::make_shared<sherd::nn::Linear>(inputs, kWidth, true, spread));
    }
  }
  Variable forward(const Variable& points) override {
    Variable x = points;
    for (std::size_t i = 0; i < hidden_->size(); ++i) {
      x = sherd::autograd::activation(sherd::kernel::Activation::tanh, (*hidden_)[i](x));
    }
    return (*head_)(x);
  }

 private:  // every element of a ModuleList is gathered, used and freed on its own
  std::shared_ptr<sherd::nn::ModuleList> hidden_ =
      register_module("hidden", std::make_shared<sherd::nn::ModuleList>());
  std::shared_ptr<sherd::nn::Linear> head_ =
      register_module("head", std::make_shared<sherd::nn::Linear>(kWidth, 1));
};

/// This rank's points of a 24 x 24 grid: every size-th one, so ranks may hold unequal numbers.
void fill(int rank, int size, Tensor& points, Tensor& values) {
  const std::int64_t count = (576 - rank + size - 1) / size;
  points = Tensor::empty({count, 2}, sherd::DType::f32);
  values = Tensor::empty({count, 1}, sherd::DType::f32);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t p = rank + i * size;
    const double x = double(p % 24) / 12 - 1, y = double(p / 24) / 12 - 1;
    points.data<float>()[2 * i] = float(x);
    points.data<float>()[2 * i + 1] = float(y);
    values.data<float>()[i] = float(std::sin(3 * x) * std::cos(2 * y));
  }
}

double train(const sherd::runtime::Runtime& runtime) {
  auto comms = sherd::comm::make_mesh_comms();
  auto model = sherd::fsdp::fully_shard(std::make_shared<Mlp>(), comms);
  sherd::optim::AdamW optimizer(model.parameters(), {.learning_rate = 5e-3, .weight_decay = 0});
  Tensor points, values;
  fill(runtime.rank(), runtime.size(), points, values);
  sherd::fsdp::StepValues sums;
  for (int step = 0; step < 300; ++step) {
    // Losses are summed over the ranks, so each rank's share carries 1 / (all points).
    const auto loss = sherd::autograd::squared_error(model(Variable(points)), values, 1.0 / 576);
    model.backward(loss);
    sums.loss = *loss.data().data<double>();
    model.clip_grad_norm(1.0, &sums);
    optimizer.step();
    optimizer.zero_grad();
  }
  return sums.loss;
}

}  // namespace

int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  try {
    const double loss = train(runtime);
    if (runtime.rank() == 0) std::printf("mean squared error %.6f\n", loss);
    return loss < 0.01 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "[rank %d] %s\n", runtime.rank(), error.what());
    runtime.abort(1);
  }
}
