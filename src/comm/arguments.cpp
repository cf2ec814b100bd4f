#include "comm/arguments.hpp"

#include <fmt/format.h>

#include "sherd/base/error.hpp"

namespace sherd::comm {

void expect_reducible(DType dtype) {
  if (dtype == DType::u16) {
    throw ArgumentError("elements of type u16 cannot be reduced. Try: i32");
  }
}

void expect_root(int root, int size) {
  if (root < 0 || root >= size) {
    throw ArgumentError(
        fmt::format("rank {} cannot be the root of a broadcast among {}", root, size));
  }
}

std::string describe(const char* operation, std::size_t count, DType dtype) {
  return fmt::format("{} of {} x {}", operation, count, to_string(dtype));
}

}  // namespace sherd::comm
