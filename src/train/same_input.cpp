// What all ranks of a run must have been given alike: configuration, version, environment.
#include "sherd/train/same_input.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "sherd/base/config.hpp"
#include "sherd/config/comparison.hpp"

namespace sherd::train {

const std::vector<std::string>& shared_variables() {
  static const std::vector<std::string> names = {
      "SHERD_COMM_TIMEOUT", "SHERD_CRASH_POINT",
      "SHERD_DISABLE_CUDA", "SHERD_DISABLE_NCCL",
      "SHERD_IO",           "SHERD_TEST_DEVICE",
      "SHERD_TEST_DIVERGE", "SHERD_TEST_NODES",
      "SHERD_TEST_THROW",   "SHERD_TEST_WRITE_BYTES_PER_SECOND"};
  return names;
}

const std::vector<std::string>& per_rank_variables() {
  static const std::vector<std::string> names = {
      "SHERD_LOG",               // one rank may be listened to alone
      "SHERD_TEST_GPUS",         // of a node
      "SHERD_TEST_NODE_MEMORY",  // of a node
      "SHERD_TEST_SHM_FREE",     // of a node
  };
  return names;
}

std::vector<comm::Fact> environment_facts() {
  using Json = nlohmann::json;
  std::vector<comm::Fact> facts;
  for (const std::string& name : shared_variables()) {
    if (const char* value = std::getenv(name.c_str()); value != nullptr) {
      facts.push_back({name, Json(value).dump(-1, ' ', true, Json::error_handler_t::replace)});
    }
  }
  return facts;
}

void require_same_input(comm::Communicator& world, int rank, const config::TrainConfig& config) {
  std::vector<comm::Fact> facts{{"the version of sherd", SHERD_VERSION}};
  for (comm::Fact& fact : environment_facts()) {
    facts.push_back(std::move(fact));
  }
  for (comm::Fact& fact : config::common_facts(config)) {
    facts.push_back(std::move(fact));
  }
  comm::require_same_facts(world, rank, facts,
                           {"they would train different models, or wait for each other for ever",
                            "the same program, configuration, arguments and environment on all "
                            "ranks; a copy on some node may be stale"});
}

}  // namespace sherd::train
