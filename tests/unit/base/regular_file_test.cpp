#include "sherd/base/regular_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "support/temp_folder.hpp"

namespace sherd {
namespace {

using ::testing::HasSubstr;

constexpr FilePurpose kPurpose{"a test reads it", "another path"};

std::string refusal(const std::filesystem::path& path, std::uint64_t limit = 100) {
  return test::message_of<UnreadableFile>([&] { (void)read_small_file(path, limit, kPurpose); });
}

class RegularFileTest : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& text) { return folder_.write("file", text); }
  test::TempFolder folder_;
};

TEST_F(RegularFileTest, IsReadWhole) {
  const std::string text(100, 'a');
  EXPECT_EQ(read_small_file(file(text), 100, kPurpose), text);
  EXPECT_EQ(read_small_file(file(""), 100, kPurpose), "");
  EXPECT_FALSE(read_small_file("/proc/self/status", 1 << 20, kPurpose).empty());  // of size 0
}

TEST_F(RegularFileTest, IsReadAtAnOffsetAsFarAsItGoes) {
  const RegularFile opened(file("0123456789"), kPurpose);
  std::array<std::byte, 8> out{};
  EXPECT_EQ(opened.read(4, out), 6U);
  EXPECT_EQ(static_cast<char>(out[0]), '4');
}

TEST_F(RegularFileTest, TooLongOnesAreRefused) {
  EXPECT_THAT(refusal(file(std::string(101, 'a'))), HasSubstr("such a file has at most 100"));
}

TEST_F(RegularFileTest, EverythingElseIsRefusedAtOnce) {
  const auto pipe = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto dangling = folder_.path() / "dangling";
  std::filesystem::create_symlink("nowhere", dangling);
  EXPECT_THAT(refusal(pipe), HasSubstr("pipe: cannot be read: it is a pipe"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("it is a device"));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal(dangling), HasSubstr("No such file or directory (a test reads it). Try: "));
  EXPECT_THAT(refusal(std::string(4096, 'a')), HasSubstr("File name too long"));
}

TEST_F(RegularFileTest, TheSystemsReasonIsKept) {
  try {
    const RegularFile opened(folder_.path() / "none", kPurpose);
    FAIL();
  } catch (const UnreadableFile& error) {
    EXPECT_EQ(error.error_number(), ENOENT);
  }
}

}  // namespace
}  // namespace sherd
