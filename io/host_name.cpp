#include "io/host_name.hpp"

#include <unistd.h>

#include <array>

namespace sherd::io {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace sherd::io
