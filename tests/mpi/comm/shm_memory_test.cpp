// Where shared memory lies: nothing of it has a name, so that no kill can leave it behind.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "sherd/comm/mpi_interop.hpp"

namespace sherd {
namespace {

/// The line of /proc/self/maps that an address lies in.
std::string mapping_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream in("/proc/self/maps");
  for (std::string line; std::getline(in, line);) {
    char* rest = nullptr;
    const auto begin = std::strtoull(line.c_str(), &rest, 16);
    const auto end = std::strtoull(rest + 1, nullptr, 16);
    if (begin <= wanted && wanted < end) {
      return line;
    }
  }
  return {};
}

bool is_named_way() { return std::getenv("SHERD_TEST_NODE_MEMORY") != nullptr; }

TEST(ShmMemory, HasNoName) {
  const auto communicator = comm::make_shm(MPI_COMM_WORLD);
  const auto region = communicator->allocate_shared(100000);
  const std::string line = mapping_of(region->bytes().data());
  // One rank opens its own file: there is nobody to hand it to.
  const bool named = is_named_way() && communicator->size() > 1;
  EXPECT_NE(line.find(named ? "/dev/shm/sherd-" : "/memfd:sherd-shared"), std::string::npos)
      << line;
  EXPECT_TRUE(line.ends_with("(deleted)")) << line;
}

TEST(ShmMemory, IsTheSameForAllRanksAndZero) {
  const auto communicator = comm::make_shm(MPI_COMM_WORLD);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{1000003}}) {
    const auto region = communicator->allocate_shared(bytes);
    ASSERT_EQ(region->bytes().size(), bytes);
    for (const std::byte byte : region->bytes()) {
      ASSERT_EQ(byte, std::byte{0});
    }
    communicator->barrier();
    const auto mine = static_cast<std::size_t>(communicator->rank());
    if (mine < bytes) {
      region->bytes()[mine] = static_cast<std::byte>(mine + 1);
    }
    communicator->barrier();
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(communicator->size()); ++rank) {
      if (rank < bytes) {
        EXPECT_EQ(region->bytes()[rank], static_cast<std::byte>(rank + 1));
      }
    }
    communicator->barrier();
  }
}

}  // namespace
}  // namespace sherd
