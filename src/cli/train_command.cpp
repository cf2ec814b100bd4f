#include <cstdio>

#include "cli/commands.hpp"
#include "sherd/base/log.hpp"
#include "sherd/train/agreement.hpp"
#include "sherd/train/config.hpp"
#include "sherd/train/trainer.hpp"

namespace sherd::cli {

int run_train(runtime::Runtime& runtime, comm::Communicator& world, const Request& request) {
  const runtime::Topology& topology = runtime.topology();
  const auto node = static_cast<std::size_t>(topology.node);
  const train::LaunchShape launch{topology.size, topology.ranks_per_node.at(node)};
  train::TrainConfig config;
  train::agree(world, [&] { config = load_config(request.config, request.overrides, launch); });
  if (request.dry_run) {
    for (const std::string& notice : config.notices) {
      log::info(notice);
    }
    const std::string plan = train::plan_text(topology, config);
    if (runtime.rank() == 0) {
      std::fputs(plan.c_str(), stdout);
    }
    return 0;
  }
  return train::run_training(runtime, config);
}

}  // namespace sherd::cli
