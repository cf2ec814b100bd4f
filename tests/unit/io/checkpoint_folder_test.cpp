#include "io/commit/folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "io/commit/retention.hpp"
#include "io/format/link_path.hpp"
#include "io/format/manifest.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io {
namespace {

/// A manifest of nothing but a step and a place in a line.
Manifest make_manifest(std::int64_t step, const Lineage& lineage) {
  Manifest manifest;
  manifest.step = step;
  manifest.uuid = make_uuid();
  manifest.lineage = lineage;
  manifest.files.push_back({"index.h5", 0, 0});
  return manifest;
}

Manifest make_committed(const std::filesystem::path& folder,
                        const Lineage& lineage = {.run = "one"}) {
  const Manifest manifest =
      make_manifest(parse_step_name(folder.filename().string()).value(), lineage);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "COMMITTED.json") << to_json(manifest);
  return manifest;
}

const std::string kUuid = "00112233445566778899aabbccddeeff";

TEST(CheckpointFolder, NamesRoundTrip) {
  EXPECT_EQ(step_name(1200), "step-00001200");
  EXPECT_EQ(parse_step_name("step-00001200"), 1200);
  EXPECT_EQ(parse_step_name(step_name(123456789012)), 123456789012);
  for (const char* name : {"step-", "step-12x", "step--3", "Step-1", ".bad-step-1", ""}) {
    EXPECT_FALSE(parse_step_name(name)) << name;
  }
  const auto parsed = parse_in_flight_name(in_flight_name({7, kUuid}));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->step, 7);
  EXPECT_EQ(parsed->uuid, kUuid);
  EXPECT_FALSE(parse_in_flight_name("step-00000007"));
  EXPECT_FALSE(parse_in_flight_name(".tmp-step-x-" + kUuid));
  EXPECT_FALSE(parse_in_flight_name(".tmp-step-00000007-notes"));
}

TEST(CheckpointFolder, UuidsDiffer) {
  EXPECT_EQ(make_uuid().size(), 32U);
  EXPECT_NE(make_uuid(), make_uuid());
}

TEST(CheckpointFolder, ListAndResolve) {
  const test::TempFolder directory;
  EXPECT_TRUE(list_checkpoints(directory.path()).empty());
  EXPECT_THROW((void)resolve_checkpoint(directory.path()), IoError);
  make_committed(directory.path() / step_name(9));
  make_committed(directory.path() / step_name(100));
  std::filesystem::create_directories(directory.path() / step_name(200));
  std::filesystem::create_directories(directory.path() / in_flight_name({300, kUuid}));
  std::filesystem::create_directories(directory.path() / ".bad-step-00000050");
  const auto found = list_checkpoints(directory.path());
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].step, 9);
  EXPECT_TRUE(found[1].committed);
  EXPECT_FALSE(found[2].committed);
  EXPECT_EQ(found[3].step, 300);
  EXPECT_FALSE(found[3].committed);
  EXPECT_EQ(resolve_checkpoint(directory.path()), directory.path() / step_name(100));
  EXPECT_EQ(resolve_checkpoint(directory.path() / step_name(9)), directory.path() / step_name(9));
  EXPECT_THROW((void)list_checkpoints(directory.path() / "nowhere"), IoError);
  EXPECT_THROW((void)resolve_checkpoint(directory.path() / "nowhere"), IoError);
}

std::vector<std::int64_t> steps_in(const std::filesystem::path& directory) {
  std::vector<std::int64_t> steps;
  for (const CheckpointInfo& info : list_checkpoints(directory)) {
    steps.push_back(info.step);
  }
  return steps;
}

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() {
    for (const int step : {5, 10, 20, 30}) {
      make_committed(directory_.path() / step_name(step));
    }
    std::filesystem::create_directories(directory_.path() / step_name(40));  // not committed
  }
  std::vector<std::int64_t> after(const Retention& retention, std::int64_t just_saved) {
    const std::filesystem::path file = directory_.path() / step_name(just_saved) / "COMMITTED.json";
    apply_retention(fs_, directory_.path(), retention,
                    std::filesystem::exists(file) ? read_manifest(file)
                                                  : make_manifest(just_saved, {.run = "one"}));
    return steps_in(directory_.path());
  }
  test::TempFolder directory_;
  FileSystem fs_;
};

using Steps = std::vector<std::int64_t>;

TEST_F(RetentionTest, CountsCommittedOnesAndSparesTheNew) {
  EXPECT_EQ(after({.keep_last = 0}, 5), (Steps{5, 10, 20, 30, 40}));
  EXPECT_EQ(after({.keep_last = 2}, 30), (Steps{20, 30, 40}));
}

TEST_F(RetentionTest, NeverGoesBelowTwo) {
  EXPECT_EQ(after({.keep_last = 1}, 30), (Steps{20, 30, 40}));
}

TEST_F(RetentionTest, DeletesNothingUnlessTheNewOneIsCommitted) {
  EXPECT_THROW(after({.keep_last = 2}, 40), IoError);
  EXPECT_THROW(after({.keep_last = 2}, 99), IoError);
  EXPECT_EQ(steps_in(directory_.path()), (Steps{5, 10, 20, 30, 40}));
}

// Going back to step 10 gives 20 and 30 up: they are no reason to delete what comes now, and stay.
TEST_F(RetentionTest, CountsTheLineOfTheNewOneAlone) {
  const Lineage second{.run = "two", .sequence = 5, .past = {{"one", 10}}};
  make_committed(directory_.path() / step_name(11), second);
  make_committed(directory_.path() / step_name(12), second);
  EXPECT_EQ(after({.keep_last = 2}, 12), (Steps{11, 12, 20, 30, 40}));
}

TEST_F(RetentionTest, LeavesCopiesAlone) {
  std::filesystem::copy(directory_.path() / step_name(5), directory_.path() / step_name(6));
  EXPECT_EQ(after({.keep_last = 2}, 30), (Steps{6, 20, 30, 40}));
}

TEST_F(RetentionTest, PinnedStepsAndEveryNthStay) {
  std::ofstream(directory_.path() / step_name(5) / "PINNED");
  EXPECT_EQ(after({.keep_last = 2}, 30), (Steps{5, 20, 30, 40}));
  make_committed(directory_.path() / step_name(10));
  EXPECT_EQ(after({.keep_last = 2, .keep_every = 10}, 30), (Steps{5, 10, 20, 30, 40}));
}

TEST(CheckpointFolder, SettingAsideNeverOverwrites) {
  const test::TempFolder directory;
  FileSystem fs;
  for (int i = 0; i < 3; ++i) {
    make_committed(directory.path() / step_name(1));
    set_aside(fs, directory.path() / step_name(1));
  }
  for (const char* name : {".bad-step-00000001", ".bad-step-00000001-2", ".bad-step-00000001-3"}) {
    EXPECT_TRUE(std::filesystem::exists(directory.path() / name)) << name;
  }
}

TEST(LinkPath, SplitsAtDotsAndEscapes) {
  EXPECT_EQ(link_path("model.layers.0.weight"), "/model/layers/0/weight");
  EXPECT_EQ(link_path("a/b.c%d"), "/a%2Fb/c%25d");
  EXPECT_EQ(link_path("a..b"), "/a/%00/b");
  EXPECT_EQ(rank_group(3), "/rank-00003");
}

}  // namespace
}  // namespace sherd::io
