#include "io/commit/leftovers.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "io/commit/folder.hpp"
#include "io/commit/writer_mark.hpp"
#include "support/temp_folder.hpp"

#include "sherd/base/host_name.hpp"

namespace sherd::io {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Leftovers : public ::testing::Test {
 protected:
  fs::path in_flight(std::int64_t step) const {
    return directory_.path() / in_flight_name({step, uuid_});
  }
  /// A folder as a save of another program leaves it after its first moments.
  void begin(std::int64_t step, const std::string& host) {
    open_in_flight(fs_, directory_.path(), {step, uuid_}, false);
    ProcessIdentity writer = this_process();
    std::ofstream(in_flight(step) / "writer.json")
        << R"({"uuid": ")" << uuid_ << R"(", "host": ")" << host << R"(", "boot": ")" << writer.boot
        << R"(", "pid": )" << writer.pid << R"(, "started": )" << writer.started << "}\n";
  }
  void age(const fs::path& folder, std::chrono::hours hours) const {
    const auto then = fs::file_time_type::clock::now() - hours;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      fs::last_write_time(entry, then);
    }
    fs::last_write_time(folder, then);
  }
  std::vector<std::string> clean() { return clean_up(fs_, directory_.path()); }

  test::TempFolder directory_{test::kMemory};
  FileSystem fs_;
  std::string uuid_ = make_uuid();
};

TEST_F(Leftovers, OfAnotherMachineStayForAnHour) {
  begin(5, "another-machine");
  EXPECT_THAT(clean(), ElementsAre(HasSubstr("'another-machine' that may still run: left alone")));
  EXPECT_TRUE(fs::exists(in_flight(5)));
  age(in_flight(5), std::chrono::hours(2));
  EXPECT_THAT(clean(), ElementsAre(HasSubstr("was incomplete: removed")));
  EXPECT_FALSE(fs::exists(in_flight(5)));
}

TEST_F(Leftovers, OfThisMachineGoWhenTheProcessHasGone) {
  begin(5, host_name());
  EXPECT_THAT(clean(), ElementsAre(HasSubstr("was incomplete: removed")));
}

TEST_F(Leftovers, OnlyNamesWithAUuidAreTouched) {
  for (const std::string& name : {std::string(".tmp-step-00000003-notes"), std::string(".del-mine"),
                                  ".del-step-00000001-" + uuid_, std::string(".template-x")}) {
    fs::create_directories(directory_.path() / name / "inside");
  }
  EXPECT_THAT(clean(), IsEmpty());
  EXPECT_TRUE(fs::exists(directory_.path() / ".tmp-step-00000003-notes" / "inside"));
  EXPECT_TRUE(fs::exists(directory_.path() / ".del-mine" / "inside"));
  EXPECT_TRUE(fs::exists(directory_.path() / ".template-x" / "inside"));
  EXPECT_FALSE(fs::exists(directory_.path() / (".del-step-00000001-" + uuid_)));
}

TEST_F(Leftovers, FoldersMayComeAndGoWhileTheyAreListed) {
  std::atomic<bool> ended{false};
  std::thread other([&] {
    for (int i = 0; !ended; i = (i + 1) % 20) {
      const fs::path folder = directory_.path() / step_name(i);
      fs::create_directories(folder / "shards");
      std::ofstream(folder / "COMMITTED.json") << "{}";
      fs::remove_all(folder);
    }
  });
  for (int i = 0; i < 300; ++i) {
    EXPECT_NO_THROW((void)scan_folders(directory_.path()));
    EXPECT_NO_THROW((void)clean());
  }
  ended = true;
  other.join();
}

}  // namespace
}  // namespace sherd::io
