#include "io/format/manifest.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "io/commit/commit.hpp"
#include "io/commit/vote.hpp"
#include "io/disk/crc32c.hpp"
#include "io/disk/positioned_reader.hpp"
#include "sherd/base/error.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io {
namespace {

Manifest sample() {
  Manifest manifest;
  manifest.step = 12;
  manifest.world_size = 2;
  manifest.uuid = "u";
  manifest.host = "h";
  manifest.files = {{"index.h5", 4096, 1}, {"shards/node-00000.h5", 10000, 2}};
  manifest.tensors = {{"model.w",
                       "w",
                       Shape{4, 3},
                       DType::bf16,
                       dtensor::Placement::sharded,
                       true,
                       {"model.tied"},
                       {{0, 1, 4096, 0, 7, 0}, {1, 1, 8192, 7, 5, 0}}}};
  manifest.blobs = {{"random", 0, 1, 9000, 16, 0}, {"random", 1, 1, 0, 0, 0}};
  manifest.texts = {{"config", 2048, 100, 128}};
  return manifest;
}

TEST(Manifest, RoundTrips) {
  const Manifest manifest = sample();
  const std::string text = to_json(manifest);
  const Manifest again = parse_manifest(text, "here");
  EXPECT_EQ(to_json(again), text);
  EXPECT_EQ(again.tensors[0].shape, (Shape{4, 3}));
  EXPECT_EQ(again.tensors[0].pieces[1].first, 7);
  EXPECT_EQ(again.tensors[0].aliases.front(), "model.tied");
}

TEST(Manifest, EveryCutAndManyFlipsAreNoticed) {
  const std::string text = to_json(sample());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    EXPECT_THROW((void)parse_manifest(text.substr(0, length), "here"), DamagedError);
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ' ' || text[at] == '\n') {
      continue;
    }
    std::string flipped = text;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_THROW((void)parse_manifest(flipped, "here"), IoError) << at;
  }
}

TEST(Manifest, ContradictionsAreRefused) {
  const auto refused = [](const Manifest& manifest) {
    EXPECT_THROW((void)parse_manifest(to_json(manifest), "here"), DamagedError);
  };
  Manifest manifest = sample();
  manifest.tensors[0].pieces[1].first = 8;
  refused(manifest);
  manifest = sample();
  manifest.tensors[0].pieces[1].file_offset = 9999;
  refused(manifest);
  manifest = sample();
  manifest.tensors[0].pieces[1].file = 2;
  refused(manifest);
  manifest = sample();
  manifest.blobs[0].bytes = 1001;
  refused(manifest);
}

/// A manifest whose JSON `change` has altered, with the digest that belongs to it.
std::string changed(const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json json = nlohmann::json::parse(to_json(sample()));
  json.erase("manifest_crc32c");
  change(json);
  const std::string text = json.dump();
  json["manifest_crc32c"] = crc32c(std::as_bytes(std::span(text)));
  return json.dump() + "\n";
}

TEST(Manifest, NumbersThatNoFieldHoldsAreRefused) {
  EXPECT_NO_THROW((void)parse_manifest(changed([](auto&) {}), "here"));
  using Json = nlohmann::json;
  const std::vector<std::pair<const char*, Json>> changes = {
      {"/step", 1e30},
      {"/step", -1},
      {"/world_size", std::int64_t{1} << 32},
      {"/files/0/bytes", 18446744073709551615ULL},
      {"/files/0/structure_crc32c", std::int64_t{1} << 32},
      {"/tensors/0/shape", {std::int64_t{1} << 62, 4}},
      {"/tensors/0/shape", {-4, -3}},
      {"/tensors/0/shape", {"4", 3}},
      {"/tensors/0/pieces/0/file_offset", 0.5},
      {"/per_rank/0/rank", -1},
      {"/meta", Json::object({{"x", 1e300}})}};
  for (const auto& [place, value] : changes) {
    EXPECT_THROW((void)parse_manifest(
                     changed([&](Json& json) { json[Json::json_pointer(place)] = value; }), "here"),
                 DamagedError)
        << place << " " << value;
  }
}

TEST(Manifest, DeepNestingIsRefusedBeforeItIsParsed) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THROW((void)parse_manifest("{\"x\":" + deep + "}\n", "here"), DamagedError);
}

TEST(Manifest, VotesCompleteIt) {
  const std::vector<Vote> votes = {{0, "u", true, "", {11, 12}, {}, {0, 1, 2, 3, 4, 5, 6}},
                                   {1, "u", true, "", {21}, {}, {1, 1, 2, 3, 4, 5, 6}}};
  const Manifest done = complete_manifest(sample(), votes);
  EXPECT_EQ(done.tensors[0].pieces[0].crc32c, 11U);
  EXPECT_EQ(done.tensors[0].pieces[1].crc32c, 21U);
  EXPECT_EQ(done.blobs[0].crc32c, 12U);
  EXPECT_EQ(done.timing.size(), 2U);
  EXPECT_THROW((void)complete_manifest(sample(), {votes[0], votes[0]}), DamagedError);
}

TEST(Manifest, KeepsBlocksAndRefusesWrongOnes) {
  Manifest manifest = sample();
  TensorRecord& tensor = manifest.tensors[0];
  tensor.shape = {2, 8};
  tensor.pieces[0].block = dtensor::Block{{0, 0}, {2, 5}};
  tensor.pieces[0].numel = 10;
  tensor.pieces[1].block = dtensor::Block{{0, 5}, {2, 3}};
  tensor.pieces[1].first = 0;
  tensor.pieces[1].numel = 6;
  for (PieceRecord& piece : tensor.pieces) {
    piece.parts_crc32c = {5};
  }
  EXPECT_EQ(parse_manifest(to_json(manifest), "here").tensors[0].pieces[1].block,
            tensor.pieces[1].block);
  manifest.tensors[0].pieces[1].block->start[1] = 6;
  EXPECT_THROW((void)parse_manifest(to_json(manifest), "here"), DamagedError);
  manifest.tensors[0].pieces[1].block->start[1] = 5;
  manifest.tensors[0].pieces[1].parts_crc32c = {};
  EXPECT_THROW((void)parse_manifest(to_json(manifest), "here"), DamagedError);
}

TEST(Vote, IsFoundOnlyUnderItsUuid) {
  const test::TempFolder directory;
  std::filesystem::create_directories(directory.path() / "votes");
  FileSystem fs;
  EXPECT_FALSE(find_vote(directory.path(), 0, "u"));
  cast_vote(fs, directory.path(), {0, "u", true, "", {1, 2, 3}, {{7, 8}}, {}});
  const auto vote = find_vote(directory.path(), 0, "u");
  ASSERT_TRUE(vote);
  EXPECT_EQ(vote->crc32c, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(vote->parts_crc32c.at(0), (std::vector<std::uint32_t>{7, 8}));
  EXPECT_FALSE(find_vote(directory.path(), 0, "other"));
  EXPECT_FALSE(find_vote(directory.path(), 1, "u"));
}

TEST(Vote, WaitingNamesTheFailedAndTheMissing) {
  const test::TempFolder directory;
  std::filesystem::create_directories(directory.path() / "votes");
  FileSystem fs;
  cast_vote(fs, directory.path(), {1, "u", true, "", {}, {}, {}});
  const auto message = [&] {
    try {
      (void)wait_for_votes(directory.path(), 3, "u", std::chrono::duration<double>(0.01));
    } catch (const IoError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(message(), ::testing::HasSubstr("rank(s) 0, 2"));
  cast_vote(fs, directory.path(), {2, "u", false, "disk on fire", {}, {}, {}});
  EXPECT_THAT(message(), ::testing::HasSubstr("rank 2 could not save its part: disk on fire"));
}

}  // namespace
}  // namespace sherd::io
