#include <cstdio>
#include <memory>

#include "sherd/sherd.hpp"

/// Uses something of every library, so that an incomplete link line shows.
int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  auto comms = sherd::comm::make_mesh_comms();
  auto list = std::make_shared<sherd::nn::ModuleList>();
  list->push_back(std::make_shared<sherd::nn::Linear>(8, 8));
  auto model = sherd::fsdp::fully_shard(list, comms);
  sherd::optim::AdamW optimizer(model.parameters());
  const auto x = sherd::Tensor::zeros({4, 8}, sherd::DType::f32);
  model.backward(sherd::autograd::squared_error(model(sherd::nn::Variable(x)), x, 1.0));
  model.clip_grad_norm(1.0);
  optimizer.step();
  const std::size_t tensors = model.state_dict().tensors.size();
  std::printf("consumer of sherd %s: %zu tensors, %zu backends\n", SHERD_VERSION, tensors,
              sherd::comm::backend_statuses().size());
  return tensors == 2 ? 0 : 1;
}
