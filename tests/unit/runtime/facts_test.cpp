#include "runtime/facts.hpp"

#include <gtest/gtest.h>

#include "runtime/machine.hpp"
#include "runtime/visible_gpus.hpp"
#include "unit/runtime/synthetic_cluster.hpp"

namespace sherd::runtime {
namespace {

TEST(Facts, ArriveAsTheyWereSent) {
  RankFacts facts = testing::cluster({0, 0}, {.cores = 4, .gpus = 2})[0];
  facts.cuda_visible_devices = "0,1";
  facts.omp_num_threads = 3;
  facts.slurm = {"17", "train", "cn[0-1]", 2, 8};
  const std::string bytes = pack(facts);
  const RankFacts arrived = unpack(bytes);
  EXPECT_EQ(pack(arrived), bytes);
  EXPECT_EQ(arrived.host, "cn0");
  EXPECT_EQ(arrived.cores, facts.cores);
  EXPECT_EQ(arrived.machine.gpus[1].pci, facts.machine.gpus[1].pci);
  EXPECT_EQ(arrived.machine.nics[0].name, "eth0");
  EXPECT_EQ(arrived.launch.variable, "PMIX_RANK");
  EXPECT_EQ(arrived.slurm.restarts, 2);
  EXPECT_EQ(arrived.omp_num_threads, 3);
}

TEST(Machine, HasCoresThatThisProcessMayUse) {
  RankFacts facts;
  discover_machine(facts);
  EXPECT_GE(facts.machine.packages, 1);
  EXPECT_GE(facts.machine.numa_nodes, 1);
  EXPECT_GE(facts.machine.allowed_cores, 1);
  EXPECT_GE(facts.machine.cores, facts.machine.allowed_cores);
  EXPECT_FALSE(facts.cpus.empty());
  EXPECT_GE(facts.cores.size(), 1U);
  EXPECT_LE(static_cast<int>(facts.cores.size()), facts.machine.allowed_cores);
  EXPECT_FALSE(facts.numa_nodes.empty());
}

std::vector<std::string> seen(const char* list, const char* visible) {
  std::vector<std::string> pci;
  for (const Gpu& gpu : gpus_for_tests(list, visible)) {
    pci.push_back(gpu.pci);
  }
  return pci;
}

TEST(VisibleGpus, OfATestAreThoseTheVariableLeaves) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(seen("a,b,c", nullptr), (Texts{"a", "b", "c"}));
  EXPECT_EQ(seen("a,b,c", "2,0"), (Texts{"c", "a"}));
  EXPECT_EQ(seen("a,b,c", "1,5,0"), (Texts{"b"}));
  EXPECT_EQ(seen("a,b,c", ""), Texts{});
  EXPECT_EQ(seen("", nullptr), Texts{});
}

}  // namespace
}  // namespace sherd::runtime
