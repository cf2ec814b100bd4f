// From the command line to the command and an exit code.
#include "cli/program.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/standard_streams.hpp"
#include "cli/top_level.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/comm/facts.hpp"
#include "sherd/train/stop_signal.hpp"

namespace sherd::cli {
namespace {

bool needs_no_runtime(Command command) {
  return command != Command::train && command != Command::info && command != Command::generate;
}

int run(runtime::Runtime& runtime, comm::Communicator& world, const Request& request) {
  switch (request.command) {
    case Command::train:
      return run_train(runtime, world, request);
    case Command::generate:
      return run_generate(runtime, request);
    default:
      return run_info(runtime, request);
  }
}

/// Whether this process is one of several, as launchers say in the environment. A wrong command
/// line must not end one rank while the launcher has not started the others.
bool launched_with_others() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* value = std::getenv(name); value != nullptr && std::atoi(value) > 1) {
      return true;
    }
  }
  return false;
}

std::string name_of(const Request& request) {
  switch (request.command) {
    case Command::train:
      return request.dry_run ? "train --dry-run" : "train";
    case Command::generate:
      return "generate";
    default:
      return "info";
  }
}

/// Ranks that a launcher starts with different arguments would wait for each other in vain.
void agree_on_command(comm::Communicator& world, const ParsedCommandLine& parsed) {
  comm::all_or_config_error(world, [&] {
    if (!parsed.request) {
      throw ConfigError(parsed.text);
    }
  });
  comm::require_same_facts(world, world.rank(), {{"the command", name_of(*parsed.request)}},
                           {"commands of one launch work together", "one command on all ranks"});
}

int main_in_runtime(int argc, char** argv, const ParsedCommandLine& parsed) {
  return run_alone([&] {
    runtime::Runtime runtime(argc, argv);
    return run_on_all_ranks(runtime, [&](comm::Communicator& world) {
      agree_on_command(world, parsed);
      return run(runtime, world, *parsed.request);
    });
  });
}

int run_parsed(int argc, char** argv, const ParsedCommandLine& parsed) {
  if (!parsed.request && (parsed.exit_code == 0 || !launched_with_others())) {
    std::fputs(parsed.text.c_str(), parsed.exit_code == 0 ? stdout : stderr);
    return parsed.exit_code;
  }
  if (parsed.request && needs_no_runtime(parsed.request->command)) {
    return run_alone([&] {
      return parsed.request->command == Command::plan ? run_plan(*parsed.request)
                                                      : run_checkpoint(*parsed.request);
    });
  }
  std::optional<train::StopSignal> stop;  // from here on, as a batch system's may come at any time
  if (parsed.request && parsed.request->command == Command::train) {
    stop.emplace();
  }
  return main_in_runtime(argc, argv, parsed);
}

/// What a training prints is a view of it: a run that did its steps and saved has not failed.
bool prints_a_view(const ParsedCommandLine& parsed) {
  return parsed.request && parsed.request->command == Command::train && !parsed.request->dry_run;
}

}  // namespace

int run_program(int argc, char** argv) {
  prepare_streams();
  const ParsedCommandLine parsed = parse_command_line(argc, argv);
  const int code = run_parsed(argc, argv, parsed);
  const int checked = check_output(code);
  return prints_a_view(parsed) ? code : checked;
}

}  // namespace sherd::cli
