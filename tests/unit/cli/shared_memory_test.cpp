#include "cli/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>

#include "support/temp_folder.hpp"

namespace sherd::cli {
namespace {

TEST(SharedMemory, WhatNobodyUsesIsCounted) {
  const test::TempFolder folder{test::kMemory};
  folder.write("osc_sm.host.1", std::string(10000, 'x'));
  folder.write("vader_segment.host.0", std::string(5000, 'x'));
  folder.write("somebody's own", "x");
  folder.write("sherd-folder/inside", "x");
  std::filesystem::create_symlink("osc_sm.host.1", folder.path() / "osc_link");
  const SharedMemoryFolder all = look_at_shared_memory(folder.path());
  EXPECT_TRUE(all.known);
  EXPECT_GE(all.total, all.free);
  EXPECT_EQ(all.left_files, 2U);
  EXPECT_GE(all.left_bytes, 15000U);
  EXPECT_EQ(all.example, "osc_sm.host.1");
}

TEST(SharedMemory, WhatAProcessHasOpenOrMappedIsNotLeft) {
  const test::TempFolder folder{test::kMemory};
  const auto mapped = folder.write("osc_sm.host.1", std::string(4096, 'x'));
  const auto opened = folder.write("vader_segment.host.0", "x");
  std::FILE* file = std::fopen(mapped.c_str(), "r");
  void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, ::fileno(file), 0);
  std::fclose(file);
  {
    const std::ifstream open(opened);
    EXPECT_EQ(look_at_shared_memory(folder.path()).left_files, 0U);
  }
  EXPECT_EQ(look_at_shared_memory(folder.path()).example, "vader_segment.host.0");
  ::munmap(memory, 4096);
  EXPECT_EQ(look_at_shared_memory(folder.path()).left_files, 2U);
}

TEST(SharedMemory, NoFolderIsUnknown) {
  EXPECT_FALSE(look_at_shared_memory("/nowhere/at/all").known);
}

}  // namespace
}  // namespace sherd::cli
