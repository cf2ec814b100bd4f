#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/printable.hpp"
#include "sherd/plan/plan.hpp"

namespace sherd::cli {
namespace {

config::TrainConfig read_config(const Request& request) {
  const PlanOptions& options = request.plan;
  const int sources = (request.config.empty() ? 0 : 1) + (options.preset.empty() ? 0 : 1) +
                      (options.model.empty() ? 0 : 1);
  validate(sources == 1,
           "sherd plan needs a model, from one place. Try: sherd plan CONFIG.yaml, or --preset 7b, "
           "or --model FOLDER");
  if (!options.preset.empty()) {
    return plan::preset_plan_config(options.preset);
  }
  if (!options.model.empty()) {
    return plan::model_plan_config(options.model);
  }
  return config::load_config(request.config, request.overrides);
}

plan::PlanShape shape_for(const PlanOptions& options, const config::FsdpConfig& config) {
  plan::PlanShape shape;
  shape.nodes = options.nodes.value_or(1);
  validate(shape.nodes > 0, fmt::format("--nodes is {}. Try: --nodes 1", shape.nodes));
  const int wanted = config.world_size.value_or(shape.nodes);
  validate(options.ranks_per_node || wanted % shape.nodes == 0,
           fmt::format("fsdp_config.world_size {} is no multiple of {} nodes (every node holds "
                       "equally many ranks). Try: --ranks-per-node",
                       wanted, shape.nodes));
  shape.ranks_per_node = options.ranks_per_node.value_or(wanted / shape.nodes);
  validate(shape.ranks_per_node > 0,
           fmt::format("--ranks-per-node is {}. Try: --ranks-per-node 1", shape.ranks_per_node));
  shape.threads = options.threads;
  shape.shared_memory =
      !options.no_shared_memory && config.comm_backend != "mpi" && config.device == "cpu";
  return shape;
}

}  // namespace

int run_plan(const Request& request) {
  const PlanOptions& options = request.plan;
  config::TrainConfig config = read_config(request);
  const plan::PlanShape shape = shape_for(options, config.fsdp_config);
  std::optional<std::size_t> memory;
  if (!options.memory.empty()) {
    memory = plan::parse_memory(options.memory);
  }
  const plan::StepPlan planned =
      plan::plan_step(plan::plan_subject(std::move(config), options.changes, shape), shape);
  const std::string text =
      options.json ? plan::plan_json(planned, memory) : printable(plan::plan_text(planned));
  std::fputs(text.c_str(), stdout);
  if (!memory) {
    return 0;
  }
  const plan::Verdict verdict = plan::check_memory(planned, *memory);
  if (!options.json) {
    std::fputs(("\n" + verdict.text + "\n").c_str(), stdout);
  }
  return verdict.fits ? 0 : kDoesNotFit;
}

}  // namespace sherd::cli
