#include <cstdio>
#include <memory>

#include "sherd/sherd.hpp"

/// Uses one thing of every library, so that an incomplete link line shows.
int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  auto comms = sherd::comm::make_mesh_comms(runtime);
  auto list = std::make_shared<sherd::nn::ModuleList>();
  list->push_back(std::make_shared<sherd::nn::Linear>(8, 8));
  auto model = sherd::fsdp::fully_shard(list, *comms);
  sherd::optim::AdamW optimizer(model.parameters());
  optimizer.step();
  std::printf("consumer of sherd %s: %zu tensors\n", SHERD_VERSION,
              model.state_dict().tensors.size());
}
