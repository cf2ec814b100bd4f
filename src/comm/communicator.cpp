// The door to every backend: checks stand here, and nowhere else.
#include "sherd/comm/communicator.hpp"

#include <fmt/format.h>

#include <array>

#include "comm/reduce/reduce.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

void expect_root(int root, int size) {
  if (root < 0 || root >= size) {
    throw ArgumentError(
        fmt::format("rank {} cannot be the root of a broadcast among {}", root, size));
  }
}

}  // namespace

const char* name_of(CollectiveKind kind) noexcept {
  constexpr std::array<const char*, 6> kNames{"nothing",    "all_gather", "reduce_scatter",
                                              "all_reduce", "broadcast",  "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string describe(const Collective& collective) {
  const char* name = name_of(collective.kind);
  return collective.kind == CollectiveKind::barrier
             ? std::string(name)
             : fmt::format("{} of {} x {}", name, collective.count, to_string(collective.dtype));
}

Work Communicator::issue(const Collective& collective) {
  switch (collective.kind) {
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_reduce:
      expect_reducible(collective.dtype);
      break;
    case CollectiveKind::broadcast:
      expect_root(collective.root, size());
      break;
    case CollectiveKind::none:
    case CollectiveKind::all_gather:
    case CollectiveKind::barrier:
      break;
  }
  return start(collective);
}

std::unique_ptr<SharedRegion> Communicator::allocate_shared(std::size_t) { return nullptr; }

std::unique_ptr<EpochBoard> Communicator::make_epoch_board(std::size_t) { return nullptr; }

}  // namespace sherd::comm
