#include "comm/shared/operation.hpp"

#include <fmt/format.h>

#include <array>

namespace sherd::comm {

std::string to_string(const Operation& operation) {
  constexpr std::array<const char*, 3> kOps{"sum", "max", "min"};
  const char* kind = name_of(operation.kind);
  const std::string what =
      fmt::format("{} of {} x {}", kind, operation.count, to_string(operation.dtype));
  switch (operation.kind) {
    case OperationKind::none:
    case OperationKind::barrier:
      return kind;
    case OperationKind::all_gather:
      return what;
    case OperationKind::broadcast:
      return fmt::format("{} from rank {}", what, operation.root);
    case OperationKind::reduce_scatter:
    case OperationKind::all_reduce:
      break;
  }
  return fmt::format("{} ({})", what, kOps[static_cast<std::size_t>(operation.op)]);
}

}  // namespace sherd::comm
