// The store where every rank holds everything: nothing is gathered.
#include "fsdp/parameter_store.hpp"

namespace sherd::fsdp {
namespace {

class WholeStore : public ParameterStore {
 public:
  WholeStore(const GroupSet& set, const StatePlan& plan, Position at, TrafficReport& traffic)
      : ParameterStore(set, plan, at, traffic) {
    for (const FlatBuffer& buffer : set.buffers) {
      add_private(buffer);
    }
  }

  void unshard(std::size_t) override {}
  Tensor whole(std::size_t buffer) override { return source(buffer); }
  bool ready(std::size_t) override { return true; }
  void reshard(std::size_t) override {}
  void publish(std::size_t) override {}
};

}  // namespace

std::unique_ptr<ParameterStore> make_whole_store(const GroupSet& set, const StatePlan& plan,
                                                 Position at, TrafficReport& traffic) {
  return std::make_unique<WholeStore>(set, plan, at, traffic);
}

}  // namespace sherd::fsdp
