// What a model takes on every rank, known before anything is allocated and compared with what is
// held:
//   mpirun -n 3 ./04_plan_and_memory
#include <cstdio>
#include <exception>
#include <memory>

#include "sherd/sherd.hpp"

namespace {

class Tower : public sherd::nn::Module {
 public:
  Tower() {
    for (int i = 0; i < 3; ++i) {
      floors_->push_back(std::make_shared<sherd::nn::Linear>(64, 64, true, 0.1));
    }
  }
  sherd::nn::Variable forward(const sherd::nn::Variable& x) override { return (*floors_)(x); }

 private:  // every element of a ModuleList is gathered, used and freed on its own
  std::shared_ptr<sherd::nn::ModuleList> floors_ =
      register_module("floors", std::make_shared<sherd::nn::ModuleList>());
};

/// Whether the model holds what was planned, byte for byte.
bool holds_what_was_planned(bool prints) {
  auto comms = sherd::comm::make_mesh_comms();
  const sherd::fsdp::FullyShardOptions options{
      .strategy = sherd::fsdp::ShardingStrategy::shard_grad_op, .prefetch_depth = 2};

  // The plan reads shapes alone: this could be a mesh of a thousand nodes, or a model that fits
  // none.
  Tower shapes;
  const auto plan = sherd::fsdp::plan_sharding(
      shapes, options, {.nodes = comms.mesh.nodes(), .local_size = comms.mesh.local_size()});
  const auto model = sherd::fsdp::fully_shard(std::make_shared<Tower>(), comms, options);
  const std::size_t optimizer_state = plan.memory.optimizer_state;  // AdamW's, counted by its owner
  if (prints) {
    std::printf("%s\n%s", sherd::fsdp::print_sharding_plan(plan).c_str(),
                sherd::fsdp::memory_summary(model, optimizer_state).c_str());
  }
  auto held = model.memory();
  held.optimizer_state = optimizer_state;
  return held == plan.memory;
}

}  // namespace

int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  try {
    return holds_what_was_planned(runtime.rank() == 0) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "[rank %d] %s\n", runtime.rank(), error.what());
    runtime.abort(1);
  }
}
