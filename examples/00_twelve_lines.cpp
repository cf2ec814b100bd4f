#include "sherd/sherd.hpp"

int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);  // owns MPI
  auto comms = sherd::comm::make_mesh_comms();  // the ranks as a grid
  auto llama = std::make_shared<sherd::models::Llama>(sherd::models::LlamaConfig{});
  auto model = sherd::fsdp::fully_shard(llama, comms);  // every rank keeps one piece
  sherd::optim::AdamW optimizer(model.parameters());
  const auto text = sherd::Tensor::zeros({2, 64}, sherd::DType::i32);  // your token ids
  model.backward(sherd::autograd::cross_entropy(model(sherd::nn::Variable(text)), text, 0.01));
  model.clip_grad_norm(1.0);
  optimizer.step();
}
