#include <gmock/gmock.h>

#include <fstream>
#include <numeric>

#include "io/format/manifest.hpp"
#include "io/tools/verify_apart.hpp"
#include "sherd/io/inspect.hpp"
#include "support/block_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// Reading and verifying checkpoints of 2 x 2 ranks with blocks, in every layout.
namespace sherd::io::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReaderLayouts : public ::testing::TestWithParam<Layout> {
 protected:
  ReaderLayouts() {
    on_ranks(2, 2, [this](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = make_mixed_state(ranks, {2});
      fill_any(state, 1);
      Checkpointer checkpointer(comms, {.directory = directory_.path(), .layout = GetParam()});
      checkpointer.save_async(3, state).wait();
    });
  }
  std::filesystem::path folder() const { return directory_.path() / "step-00000003"; }
  Manifest manifest() const { return read_manifest(folder() / "COMMITTED.json"); }
  std::vector<VerifyProblem> check_index(const Manifest& manifest) const {
    return verify_index_apart(folder(), manifest, std::vector<bool>(manifest.files.size(), true));
  }
  void flip(const std::string& file, std::uint64_t at) const {
    std::fstream stream(folder() / file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
  }

  TempFolder directory_;
};

TEST_P(ReaderLayouts, ReadsAnyRangeOfBlocksAndFlatTensors) {
  const CheckpointReader reader(folder());
  for (const TensorInfo& info : reader.tensors()) {
    const auto width = static_cast<std::int64_t>(size_of(info.dtype));
    const std::int64_t total = info.shape.numel();
    for (std::int64_t first = 0; first <= total; first += total / 7 + 1) {
      for (const std::int64_t numel : {std::min<std::int64_t>(1, total - first), total - first}) {
        const Tensor out = Tensor::zeros(Shape{numel}, info.dtype);
        reader.read(info.key, first, out);
        for (std::int64_t i = 0; i < numel * width; ++i) {
          ASSERT_EQ(out.raw()[i], pattern(1, first * width + i)) << info.key << " " << first;
        }
      }
    }
  }
}

TEST_P(ReaderLayouts, SaysWhatTheCheckpointHolds) {
  const CheckpointReader reader(folder());
  const TensorInfo* cube = reader.find("field.cube");
  ASSERT_NE(cube, nullptr);
  ASSERT_EQ(cube->pieces.size(), 4U);
  EXPECT_EQ(cube->pieces[3].block, (dtensor::Block{{3, 4, 0}, {2, 3, 3}}));
  EXPECT_EQ(reader.find("model.tied.flat"), reader.find("model.flat"));
  EXPECT_EQ(reader.find("model.copied")->placement, dtensor::Placement::replicated);
  EXPECT_EQ(reader.find("nothing"), nullptr);
  EXPECT_EQ(reader.per_rank().size(), 4U);
  EXPECT_THAT(reader.common_keys(), ElementsAre("config", "step"));
  ASSERT_EQ(reader.timing().size(), 4U);
  EXPECT_GT(reader.timing()[2].durable, 0.0);
  EXPECT_EQ(reader.files().size(), GetParam() == Layout::single_file ? 1U
                                   : GetParam() == Layout::per_node  ? 3U
                                                                     : 5U);
}

TEST_P(ReaderLayouts, VerifyFindsEveryFlippedByteAndSaysWhere) {
  const VerifyReport good = verify_checkpoint(folder(), {.threads = 3});
  EXPECT_THAT(good.problems, IsEmpty());
  std::uint64_t bytes = 0;
  for (const FileRecord& file : manifest().files) {
    bytes += file.bytes;
    for (std::uint64_t at = 7; at < file.bytes; at += file.bytes / 23 + 1) {
      flip(file.name, at);
      const VerifyReport report = verify_checkpoint(folder());
      ASSERT_EQ(report.details.size(), 1U) << file.name << " byte " << at;
      const VerifyProblem& problem = report.details[0];
      EXPECT_EQ(problem.file, file.name);
      EXPECT_THAT(problem.text, HasSubstr(file.name));
      EXPECT_EQ(problem.tensor.empty(), problem.end_byte == 0);
      if (problem.end_byte > 0) {
        EXPECT_TRUE(problem.first_byte <= at && at < problem.end_byte) << problem.text;
      }
      flip(file.name, at);
    }
  }
  EXPECT_EQ(good.bytes, bytes);
}

TEST_P(ReaderLayouts, VerifyReportsProgress) {
  std::uint64_t last = 0;
  const VerifyReport report = verify_checkpoint(
      folder(), {.threads = 1, .progress = [&](std::uint64_t done, std::uint64_t total) {
                   EXPECT_GT(done, last);
                   EXPECT_LE(done, total);
                   last = done;
                 }});
  EXPECT_EQ(last, report.bytes);
}

auto about(const std::string& tensor, const std::string& text) {
  return AllOf(Field(&VerifyProblem::tensor, tensor), Field(&VerifyProblem::text, HasSubstr(text)));
}

TensorRecord& record(Manifest& manifest, const std::string& key) {
  return *std::find_if(manifest.tensors.begin(), manifest.tensors.end(),
                       [&](const TensorRecord& tensor) { return tensor.key == key; });
}

TEST_P(ReaderLayouts, AnIndexThatShowsSomethingElseIsFound) {
  EXPECT_THAT(check_index(manifest()), IsEmpty());
  Manifest other = manifest();
  record(other, "field.cube").shape = {5, 7, 4};
  EXPECT_THAT(check_index(other), ElementsAre(about("field.cube", "has shape [5, 7, 3]")));
  other = manifest();
  record(other, "field.plane").dtype = DType::f16;
  EXPECT_THAT(check_index(other), ElementsAre(about("field.plane", "is not of type f16")));
  other = manifest();
  record(other, "field.cube").pieces[0].file_offset += 8;
  EXPECT_THAT(check_index(other), ElementsAre(about("field.cube", "no piece of it"),
                                              about("field.cube", "does not show 1 of 4")));
  other = manifest();
  record(other, "field.plane").pieces[1].block->start[1] -= 1;
  EXPECT_THAT(check_index(other), ElementsAre(about("field.plane", "in another place")));
  other = manifest();
  record(other, "model.flat").pieces.push_back({0, other.files.size() - 1, 1, 0, 1, 0});
  EXPECT_THAT(check_index(other), ElementsAre(about("model.flat", "does not show 1 of 5 pieces"),
                                              about("model.flat", "'/model/tied/flat'")));
  other = manifest();
  record(other, "model.uneven").aliases = {"model.absent"};
  EXPECT_THAT(check_index(other), ElementsAre(about("model.uneven", "is missing")));
}

TEST(ReaderBlocks, DamageOfALargeBlockIsFoundToTheMiB) {
  const TempFolder directory;
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state;
    add_block_tensor(state, {comms.world.get(), &comms.mesh}, "field.large", {4, 3 << 17},
                     DType::f32, {2});
    Checkpointer(comms, {.directory = directory.path()}).save_async(1, state).wait();
  });
  const auto folder = directory.path() / step_name(1);
  const Manifest manifest = read_manifest(folder / "COMMITTED.json");
  const PieceRecord& piece = manifest.tensors[0].pieces[1];
  ASSERT_EQ(piece.parts_crc32c.size(), 3U);
  std::fstream stream(folder / manifest.files[piece.file].name,
                      std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(piece.file_offset + kDigestBytes + 77));
  stream.put('x');
  stream.close();
  const VerifyReport report = verify_checkpoint(folder);
  ASSERT_EQ(report.details.size(), 1U);
  EXPECT_EQ(report.details[0].rank, 1);
  EXPECT_EQ(report.details[0].first_byte, piece.file_offset + kDigestBytes);
  EXPECT_EQ(report.details[0].end_byte, piece.file_offset + 2 * kDigestBytes);
}

INSTANTIATE_TEST_SUITE_P(All, ReaderLayouts,
                         ::testing::Values(Layout::per_node, Layout::per_rank,
                                           Layout::single_file));

}  // namespace
}  // namespace sherd::io::test
