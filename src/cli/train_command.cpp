#include <cstdio>

#include "cli/commands.hpp"
#include "cli/system_info.hpp"
#include "sherd/base/log.hpp"
#include "sherd/base/printable.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/config/train_config.hpp"
#include "sherd/runtime/findings.hpp"
#include "sherd/train/same_input.hpp"
#include "sherd/train/trainer.hpp"

namespace sherd::cli {
namespace {

/// What rank 0 has to say of the launch before the first step. Errors are thrown.
void announce(const runtime::Topology& topology) {
  log::info(start_line(topology));
  for (const runtime::Finding& finding : runtime::find_problems(topology)) {
    if (finding.severity == runtime::Severity::warning && topology.rank == 0) {
      log::warning(finding.text);
    } else if (finding.severity == runtime::Severity::note) {
      log::info(finding.text);
    }
  }
}

}  // namespace

int run_train(runtime::Runtime& runtime, comm::Communicator& world, const Request& request) {
  const runtime::Topology& topology = runtime.topology();
  const auto node = static_cast<std::size_t>(topology.node);
  const config::LaunchShape launch{topology.size, topology.ranks_per_node.at(node)};
  config::TrainConfig config;
  comm::all_or_config_error(
      world, [&] { config = config::load_config(request.config, request.overrides, launch); });
  train::require_same_input(world, runtime.rank(), config);
  runtime::refuse_errors(topology, config.fsdp_config.device == "cuda");
  if (request.dry_run) {
    for (const std::string& notice : config.notices) {
      log::info(notice);
    }
    const std::string planned = plan::plan_text(topology, config);
    if (runtime.rank() == 0) {
      std::fputs(printable(planned).c_str(), stdout);
    }
    return 0;
  }
  announce(topology);
  return train::run_training(runtime, config);
}

}  // namespace sherd::cli
