#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "comm/self/heap_region.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"

namespace sherd::comm {
namespace {

/// One rank has nobody to wait for: an epoch that it has not posted itself never comes.
class SelfEpochBoard final : public EpochBoard {
 public:
  explicit SelfEpochBoard(std::size_t slots) : epochs_(slots, 0) {}

  void post(std::size_t slot, std::uint64_t epoch) noexcept override { epochs_[slot] = epoch; }
  [[nodiscard]] std::uint64_t read(std::size_t slot, int) const noexcept override {
    return epochs_[slot];
  }
  void wait_all(std::size_t slot, std::uint64_t epoch, const char* what) const override {
    if (!test_all(slot, epoch)) {
      throw CommError(std::string("rank 0 waits for itself in ") + what);
    }
  }
  [[nodiscard]] bool test_all(std::size_t slot, std::uint64_t epoch) const noexcept override {
    return epochs_[slot] >= epoch;
  }

 private:
  std::vector<std::uint64_t> epochs_;
};

class SelfCommunicator final : public Communicator {
 public:
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 1; }
  [[nodiscard]] std::string_view backend() const noexcept override { return "self"; }

  [[nodiscard]] std::unique_ptr<SharedRegion> allocate_shared(std::size_t bytes) override {
    return std::make_unique<HeapRegion>(make_heap_block(bytes));
  }
  [[nodiscard]] std::unique_ptr<EpochBoard> make_epoch_board(std::size_t slots) override {
    return std::make_unique<SelfEpochBoard>(slots);
  }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<SelfCommunicator>();
  }

 private:
  /// Every collective of one rank is a copy, or nothing: a broadcast has one buffer, a barrier
  /// none.
  Work start(const Collective& c) override {
    if (c.count != 0 && c.in != c.out) {
      std::memmove(c.out, c.in, c.bytes());
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Communicator> make_self() { return std::make_unique<SelfCommunicator>(); }

}  // namespace sherd::comm
