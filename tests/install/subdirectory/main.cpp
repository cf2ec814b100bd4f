#include <cstdio>

#include "sherd/base/config.hpp"
#include "sherd/mesh/device_mesh.hpp"

int main() {
  const int narrow = 1.5 < 2 ? static_cast<int>(sizeof(sherd::mesh::DeviceMesh)) : 0;
  const char unsigned_warning = static_cast<char>(narrow);  // the host's own warning level applies
  std::printf("consumer of sherd %s (%d)\n", SHERD_VERSION, unsigned_warning);
}
