#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "cli/checkpoint_command_line.hpp"
#include "sherd/base/config.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/expand_path.hpp"
#include "sherd/runtime/placement.hpp"

namespace sherd::cli {
namespace {

void add_train(CLI::App& app, Request& request) {
  auto* train = app.add_subcommand("train", "Train a model as a YAML file says");
  train->add_option("config", request.config, "YAML file (docs/config.md lists its keys)")
      ->required()
      ->option_text("CONFIG");
  train->add_option("overrides", request.overrides, "Values that replace the file's")
      ->option_text("key=value ...");
  train->add_flag("--dry-run", request.dry_run,
                  "Check everything, print groups and bytes per rank, and end");
  train->callback([&request] { request.command = Command::train; });
}

void add_plan_changes(CLI::App& plan, plan::PlanChanges& changes) {
  plan.add_option("--strategy", changes.strategy, "FULL_SHARD, HYBRID_SHARD, ... NO_SHARD");
  plan.add_option("--dtype", changes.dtype, "The model computes in: f32, bf16 or f16");
  plan.add_option("--activation-checkpointing", changes.activation_checkpoint,
                  "off, reentrant or non_reentrant");
  plan.add_option("--sequence-length", changes.sequence_length, "Tokens of a sequence");
  plan.add_option("--micro-batch", changes.micro_batch, "Sequences per rank and forward");
  plan.add_option("--accumulate", changes.accumulate, "Micro-batches per step");
  plan.add_option("--accumulation", changes.accumulation,
                  "What travels for them: reduce_each, defer_all_reduce or no_sync");
}

void add_plan(CLI::App& app, Request& request) {
  PlanOptions& options = request.plan;
  auto* plan = app.add_subcommand(
      "plan", "What a run would hold and move, without launching it (docs/plan.md); needs no MPI");
  plan->add_option("config", request.config, "YAML file, or --preset or --model instead")
      ->option_text("CONFIG");
  plan->add_option("overrides", request.overrides, "Values that replace the file's")
      ->option_text("key=value ...");
  plan->add_option("--preset", options.preset, "tiny, 125m, 1b, 7b, 13b or 70b");
  plan->add_option("--model", options.model, "Hugging Face config.json, or the folder it is in");
  plan->add_option("--nodes", options.nodes, "How many nodes (1)");
  plan->add_option("--ranks-per-node", options.ranks_per_node,
                   "Ranks on each (1, or world_size of the YAML file over the nodes)");
  plan->add_option("--threads", options.threads, "Of each rank (1)")
      ->check(CLI::Range(1, runtime::kMostThreads));
  plan->add_flag("--no-shared-memory", options.no_shared_memory,
                 "The ranks of a node share no memory");
  add_plan_changes(*plan, options.changes);
  plan->add_option("--memory", options.memory,
                   "What a rank has, such as 80GiB; exit code 3 when the plan needs more");
  plan->add_flag("--json", options.json, "One JSON object instead of tables");
  plan->callback([&request] { request.command = Command::plan; });
}

void add_generate(CLI::App& app, Request& request) {
  auto* generate = app.add_subcommand("generate", "Continue a text with a byte model");
  generate->add_option("checkpoint", request.checkpoint, "Step folder, or folder of checkpoints")
      ->required()
      ->option_text("CHECKPOINT");
  generate->add_option("--prompt", request.prompt, "Text to continue")->required();
  generate->add_option("--max-tokens", request.max_tokens, "Bytes to write")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  generate->add_option("--temperature", request.temperature, "0: always the likeliest byte")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  generate->add_option("--seed", request.seed, "The same seed gives the same text")
      ->capture_default_str();
  generate->add_flag_callback(
      "--no-verify", [&request] { request.ckpt.verify = false; },
      "Do not compare the weights with their digests");
  generate->callback([&request] { request.command = Command::generate; });
}

/// A shell has done this already, but for what a user or a script put in quotes.
void expand_paths(Request& request) {
  for (std::string* path : {&request.config, &request.plan.model, &request.checkpoint,
                            &request.ckpt.other, &request.ckpt.output}) {
    *path = expand_path(*path).string();
  }
}

}  // namespace

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  Request request;
  CLI::App app("Fully sharded training on MPI clusters, with checkpoints that never stop it",
               "sherd");
  app.set_version_flag("--version", "sherd " SHERD_VERSION);
  app.require_subcommand(1);
  add_train(app, request);
  add_plan(app, request);
  auto* info = app.add_subcommand("info", "Versions, backends, and where this launch's ranks are");
  info->add_flag("--json", request.json, "One JSON object (docs/topology.md lists its keys)");
  info->callback([&request] { request.command = Command::info; });
  add_generate(app, request);
  add_checkpoints(app, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    return {std::nullopt, code == 0 ? 0 : 2, out.str() + err.str()};
  }
  try {
    expand_paths(request);
  } catch (const ConfigError& error) {
    return {std::nullopt, 2, fmt::format("{}. Try: the path written out\n", error.what())};
  }
  return {std::move(request), 0, {}};
}

}  // namespace sherd::cli
