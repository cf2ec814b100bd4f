#include "data/text_folder.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "support/temp_folder.hpp"

namespace sherd::data {
namespace {

using sherd::test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::string> names_below(const TempFolder& folder, const std::string& name) {
  std::vector<std::string> names;
  for (const fs::path& file : files_below(folder.path() / name)) {
    names.push_back(file.lexically_relative(folder.path() / name).string());
  }
  return names;
}

TEST(TextFolder, LinkedFoldersAreFollowed) {
  const TempFolder folder;
  folder.write("corpus/m.txt", "m");
  folder.write("real/more/1.txt", "1");
  folder.write("real/2.txt", "2");
  fs::create_symlink("../real", folder.path() / "corpus/link");
  EXPECT_THAT(names_below(folder, "corpus"), ElementsAre("link/2.txt", "link/more/1.txt", "m.txt"));
}

TEST(TextFolder, LinksInACircleEnd) {
  const TempFolder folder;
  folder.write("corpus/a/1.txt", "1");
  fs::create_symlink("..", folder.path() / "corpus/a/up");
  fs::create_symlink("a", folder.path() / "corpus/b");  // met as a
  fs::create_symlink(folder.path() / "corpus", folder.path() / "corpus/self");
  EXPECT_THAT(names_below(folder, "corpus"), ElementsAre("a/1.txt"));
}

TEST(TextFolder, WhatCannotBeReadIsNamed) {
  const auto problem = [](const auto& make) {
    const TempFolder folder;
    folder.write("corpus/a.txt", "a");
    make(folder.path() / "corpus/odd");
    return sherd::test::message_of<ConfigError>([&] { (void)names_below(folder, "corpus"); });
  };
  EXPECT_THAT(problem([](const fs::path& odd) { fs::create_symlink("nowhere", odd); }),
              HasSubstr("corpus/odd: No such file or directory (it is training data). Try: "));
  EXPECT_THAT(problem([](const fs::path& odd) { fs::create_symlink("odd", odd); }),
              HasSubstr("corpus/odd: Too many levels of symbolic links"));
  EXPECT_THAT(problem([](const fs::path& odd) { ASSERT_EQ(::mkfifo(odd.c_str(), 0600), 0); }),
              HasSubstr("corpus/odd: is neither a file nor a folder"));
}

TEST(TextFolder, OneWithoutFilesIsRefused) {
  const TempFolder folder;
  folder.write("corpus/.hidden", "x");
  EXPECT_THAT(sherd::test::message_of<ConfigError>([&] { (void)names_below(folder, "corpus"); }),
              HasSubstr("corpus: holds no files"));
}

}  // namespace
}  // namespace sherd::data
