#include "fsdp/parameter_store.hpp"

namespace sherd::fsdp {
namespace {

class WholeStore : public ParameterStore {
 public:
  WholeStore(const GroupSet& set, const MixedPrecisionPolicy& policy) {
    for (const FlatBuffer& buffer : set.buffers) {
      add_private_piece(buffer.layout.buffer_numel(), policy);
    }
  }

  std::int64_t first(std::size_t) const override { return 0; }
  void unshard(std::size_t) override {}
  Tensor whole(std::size_t buffer) override {
    return computes_[buffer].defined() ? computes_[buffer] : masters_[buffer];
  }
  void reshard(std::size_t) override {}
  void publish(std::size_t) override {}

 private:
};

}  // namespace

std::unique_ptr<ParameterStore> make_whole_store(const GroupSet& set,
                                                 const MixedPrecisionPolicy& policy) {
  return std::make_unique<WholeStore>(set, policy);
}

}  // namespace sherd::fsdp
