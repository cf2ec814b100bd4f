// A program that saves and loads and tells what became of it: what fault tests kill and restart.
//
//   checkpoint_trial FOLDER [option ...] action ...
//     threads:N           ranks are threads of this process; otherwise they are MPI's
//     keep:N  overwrite  timeout:SECONDS  layout:NAME   CheckpointerOptions
//     leave               ends at once when a save fails or all is done, without MPI's leave
//     places              prints the crash points and who passes them; FOLDER is not used
//     kill_all            whoever dies at a crash point takes all ranks along
//     pids:FILE           each rank appends its process number
//     load                prints "loaded STEP SEED", "nothing" or "error ..."
//     save:STEP:SEED      prints "committed STEP SEED" or "failed ..."
//     saves:FROM          saves steps FROM, FROM + 1 ... (the seed is the step) until it is killed
//     crash:PLACE[:RANK]  SHERD_CRASH_POINT from here on
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "faults/fault_shim.hpp"
#include "faults/trial_state.hpp"
#include "io/disk/crash_point.hpp"
#include "sherd/base/error.hpp"
#include "sherd/runtime/runtime.hpp"
#include "support/inproc_ranks.hpp"

namespace {

namespace io = sherd::io;
using sherd::faults::seed_of;
using sherd::faults::trial_state;

std::vector<int> all_processes;  // to be killed at a crash point
std::string pids_file;

struct Plan {
  io::CheckpointerOptions options;
  int threads = 0;
  bool kill_all = false;
  bool leave = false;
  std::vector<std::string> actions;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Plan read_arguments(int argc, char** argv) {
  Plan plan;
  plan.options.directory = argv[1];
  plan.options.commit_timeout_seconds = 20;
  for (int i = 2; i < argc; ++i) {
    const std::vector<std::string> parts = split(argv[i]);
    if (parts[0] == "threads") {
      plan.threads = std::stoi(parts[1]);
    } else if (parts[0] == "keep") {
      plan.options.keep_last = std::stoi(parts[1]);
    } else if (parts[0] == "timeout") {
      plan.options.commit_timeout_seconds = std::stod(parts[1]);
    } else if (parts[0] == "layout") {
      plan.options.layout = parts[1] == "per_rank"      ? io::Layout::per_rank
                            : parts[1] == "single_file" ? io::Layout::single_file
                                                        : io::Layout::per_node;
    } else if (parts[0] == "overwrite") {
      plan.options.overwrite = true;
    } else if (parts[0] == "kill_all") {
      plan.kill_all = true;
    } else if (parts[0] == "leave") {
      plan.leave = true;
    } else if (parts[0] == "pids") {
      pids_file = parts[1];
    } else {
      plan.actions.emplace_back(argv[i]);
    }
  }
  return plan;
}

/// One rank's way through the actions.
class Trial {
 public:
  Trial(sherd::comm::MeshComms& comms, const Plan& plan)
      : comms_(comms),
        ranks_{comms.world.get(), &comms.mesh},
        leave_(plan.leave),
        threads_(plan.threads > 0),
        checkpointer_(comms, plan.options),
        state_(trial_state(ranks_)) {}

  void run(const std::vector<std::string>& actions) {
    for (const std::string& action : actions) {
      const std::vector<std::string> parts = split(action);
      if (parts[0] == "load") {
        load();
      } else if (parts[0] == "save") {
        save(std::stoll(parts[1]), std::stoull(parts[2]));
      } else if (parts[0] == "saves") {
        for (std::int64_t step = std::stoll(parts[1]);; ++step) {
          save(step, static_cast<std::uint64_t>(step));
        }
      } else if (parts[0] == "crash") {
        comms_.world->barrier();
        if (ranks_.rank() == 0 || !threads_) {
          ::setenv("SHERD_CRASH_POINT", action.substr(6).c_str(), 1);
        }
        comms_.world->barrier();
      } else {
        throw sherd::ArgumentError("unknown action");
      }
    }
    if (leave_) {  // with a dead rank MPI's own leave would never end
      ::_exit(0);
    }
  }

 private:
  void say(const std::string& text) const {
    if (ranks_.rank() == 0) {
      std::printf("%s\n", text.c_str());
      std::fflush(stdout);
    }
  }

  void load() {
    try {
      const auto report = checkpointer_.load_latest(state_, {.per_rank = io::PerRank::keep});
      if (report) {  // what a program goes on from must not be lost either
        ::sherd_shim_note(fmt::format("committed {} {}", report->step, seed_of(state_)).c_str());
      }
      say(report ? fmt::format("loaded {} {}", report->step, seed_of(state_)) : "nothing");
    } catch (const sherd::Error& error) {
      say(std::string("error ").append(error.what()));
    }
  }

  void save(std::int64_t step, std::uint64_t seed) {
    const std::string what = fmt::format("{} {}", step, seed);
    sherd::faults::set_seed(state_, seed);
    if (ranks_.rank() == 0) {
      ::sherd_shim_note(fmt::format("begun {}", what).c_str());
      say(fmt::format("begun {}", what));
    }
    try {
      checkpointer_.save_async(step, state_).wait();
      ::sherd_shim_note(fmt::format("committed {}", what).c_str());
      say(fmt::format("committed {}", what));
    } catch (const sherd::IoError& error) {
      say(std::string("failed ").append(error.what()));
      std::fprintf(stderr, "rank %d failed %s\n", ranks_.rank(), error.what());
      if (leave_) {
        ::_exit(3);
      }
    }
  }

  sherd::comm::MeshComms& comms_;
  sherd::comm::Ranks ranks_;
  bool leave_;
  bool threads_;
  io::Checkpointer checkpointer_;
  sherd::dtensor::StateDict state_;
};

void print_places() {
  for (const io::CrashPlace& place : io::kCrashPlaces) {
    const char* scope = place.scope == io::CrashScope::every_rank    ? "every_rank"
                        : place.scope == io::CrashScope::overwrite   ? "overwrite"
                        : place.scope == io::CrashScope::retention   ? "retention"
                        : place.scope == io::CrashScope::node_leader ? "node_leader"
                                                                     : "rank_zero";
    std::printf("%s %s\n", std::string(place.name).c_str(), scope);
  }
}

void learn_processes(const sherd::comm::Ranks& ranks, bool kill_all) {
  std::vector<std::int64_t> pids(static_cast<std::size_t>(ranks.size()), 0);
  pids[static_cast<std::size_t>(ranks.rank())] = ::getpid();
  max_over_ranks(ranks, pids);
  if (kill_all) {
    all_processes.assign(pids.begin(), pids.end());
  }
  if (!pids_file.empty() && ranks.rank() == 0) {
    std::ofstream file(pids_file + ".tmp");
    for (const std::int64_t pid : pids) {
      file << pid << "\n";
    }
    file.close();
    std::filesystem::rename(pids_file + ".tmp", pids_file);
  }
}

}  // namespace

/// The crash points' way out.
extern "C" void _exit(int code) {
  for (const int pid : all_processes) {
    if (code == 137 && pid != ::getpid()) {
      ::kill(pid, SIGKILL);
    }
  }
  if (code == 137) {
    ::kill(::getpid(), SIGKILL);
  }
  reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, "_exit"))(code);
  std::abort();
}

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[argc - 1]) == "places") {
    print_places();
    return 0;
  }
  const Plan plan = read_arguments(argc, argv);
  if (plan.threads > 0) {
    sherd::io::test::on_ranks(1, plan.threads, [&](sherd::comm::MeshComms& comms) {
      learn_processes({comms.world.get(), &comms.mesh}, false);
      Trial(comms, plan).run(plan.actions);
    });
    return 0;
  }
  sherd::runtime::Runtime runtime(argc, argv);
  auto comms = sherd::comm::make_mesh_comms();
  learn_processes({comms.world.get(), &comms.mesh}, plan.kill_all);
  Trial(comms, plan).run(plan.actions);
  return 0;
}
