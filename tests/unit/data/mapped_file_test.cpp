#include "data/mapped_file.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <string>

#include "sherd/base/error.hpp"
#include "support/temp_folder.hpp"

namespace sherd::data {
namespace {

using sherd::test::message_of;
using sherd::test::TempFolder;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr std::size_t kBytes = 100'000;

std::byte last_byte(const MappedFile& file) {
  return *static_cast<const volatile std::byte*>(&file.bytes().back());
}

TEST(MappedFile, OneThatShrinksUnderAReaderEndsTheProcessByName) {
  const TempFolder folder;
  const auto path = folder.write("t.txt", std::string(kBytes, 'a'));
  const auto other = folder.write("other.txt", std::string(kBytes, 'b'));
  const auto touch = [&] {
    const MappedFile before(other);
    { const MappedFile gone(path); }
    const MappedFile file(path);
    fs::resize_file(path, 100);
    (void)last_byte(file);
  };
  EXPECT_EXIT(touch(), ExitedWithCode(1), "^[^\n]*/t\\.txt: can no longer be read[^\n]*\n$");
}

TEST(MappedFile, OneThatShrinksUnderAGuardedReadIsAnError) {
  const TempFolder folder;
  const auto path = folder.write("t.txt", std::string(kBytes, 'a'));
  const MappedFile file(path);
  const auto read = [&] { file.read([&] { (void)last_byte(file); }); };
  EXPECT_NO_THROW(read());
  fs::resize_file(path, 100);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(message_of<IoError>(read), HasSubstr("t.txt: can no longer be read"));
  }
}

TEST(MappedFile, OtherBusErrorsStayWhatTheyAre) {
  const TempFolder folder;
  const auto path = folder.write("t.txt", std::string(kBytes, 'a'));
  const auto send = [&] {
    const MappedFile file(path);
    ::raise(SIGBUS);
  };
  EXPECT_DEATH(send(), Not(HasSubstr("can no longer be read")));
}

TEST(MappedFile, AShorterFileIsNoticedWithinItsLastPage) {
  const TempFolder folder;
  const auto path = folder.write("t.txt", std::string(100, 'a'));
  const MappedFile file(path);
  EXPECT_NO_THROW(file.check_unchanged());
  fs::resize_file(path, 99);
  EXPECT_THAT(message_of<IoError>([&] { file.check_unchanged(); }),
              HasSubstr("t.txt: has 99 bytes, it had 100 when the run began"));
}

TEST(MappedFile, WritingToItIsWarnedOfOnce) {
  const TempFolder folder;
  const auto path = folder.write("t.txt", std::string(100, 'a'));
  const MappedFile file(path);
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
  testing::internal::CaptureStderr();
  file.check_unchanged();
  file.check_unchanged();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("t.txt: is being written to while the run reads it"));
  EXPECT_EQ(text.find("t.txt"), text.rfind("t.txt"));
}

TEST(MappedFile, AReplacedOneIsReadOn) {
  const TempFolder folder;
  const auto path = folder.write("t.txt", std::string(kBytes, 'a'));
  const MappedFile file(path);
  fs::rename(folder.write("new.txt", "b"), path);
  EXPECT_NO_THROW(file.check_unchanged());
  EXPECT_EQ(last_byte(file), std::byte{'a'});
}

}  // namespace
}  // namespace sherd::data
