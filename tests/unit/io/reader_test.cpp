#include <gmock/gmock.h>

#include <fstream>
#include <tuple>

#include "io/format/manifest.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Reader : public ::testing::Test {
 protected:
  Reader() {
    on_ranks(2, 2, [this](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = make_state(ranks, Cut::even);
      fill(state, 1);
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      checkpointer.save_async(3, state).wait();
    });
  }
  std::filesystem::path folder() const { return directory_.path() / "step-00000003"; }
  void flip(const std::string& file, std::uint64_t at) const {
    std::fstream stream(folder() / file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
  }

  TempFolder directory_;
};

TEST_F(Reader, ReadsAnyRangeOfATensor) {
  const CheckpointReader reader(folder());
  EXPECT_EQ(reader.step(), 3);
  EXPECT_EQ(reader.world_size(), 4);
  EXPECT_EQ(reader.tensors().size(), 10U);
  EXPECT_EQ(reader.common("config"), R"({"hidden_size": 64})");
  EXPECT_THROW((void)reader.common("nothing"), IoError);
  const std::string key = "model.layers.0.attention.wq.weight";
  for (const std::int64_t first : {0, 1, 175, 176, 350, 702}) {
    for (const std::int64_t numel : {std::int64_t{0}, std::int64_t{1}, 703 - first}) {
      const Tensor out = Tensor::zeros(Shape{numel}, DType::f32);
      reader.read(key, first, out);
      for (std::int64_t i = 0; i < numel * 4; ++i) {
        ASSERT_EQ(out.raw()[i], pattern(1, first * 4 + i));
      }
    }
  }
  EXPECT_THROW(reader.read(key, 703, Tensor::zeros(Shape{1}, DType::f32)), ArgumentError);
  EXPECT_THROW(reader.read(key, 0, Tensor::zeros(Shape{1}, DType::f64)), ArgumentError);
  EXPECT_THROW(reader.read("model.absent", 0, Tensor::zeros(Shape{1}, DType::f32)), IoError);
}

TEST_F(Reader, VerifyCoversEveryByte) {
  const VerifyReport good = verify_checkpoint(folder());
  EXPECT_TRUE(good.ok);
  EXPECT_THAT(good.problems, ElementsAre());
  std::uint64_t bytes = 0;
  const Manifest manifest = read_manifest(folder() / "COMMITTED.json");
  for (const FileRecord& file : manifest.files) {
    bytes += std::filesystem::file_size(folder() / file.name);
  }
  EXPECT_EQ(good.bytes, bytes);
  for (const FileRecord& file : manifest.files) {
    for (std::uint64_t at = 0; at < file.bytes; at += file.bytes / 37 + 1) {
      flip(file.name, at);
      const VerifyReport report = verify_checkpoint(folder());
      EXPECT_FALSE(report.ok) << file.name << " byte " << at;
      EXPECT_THAT(report.problems, ElementsAre(HasSubstr(file.name)));
      flip(file.name, at);
    }
  }
  EXPECT_TRUE(verify_checkpoint(folder()).ok);
}

TEST_F(Reader, VerifyNamesMissingAndCutFiles) {
  std::filesystem::resize_file(folder() / "shards/node-00000.h5", 5000);
  std::filesystem::remove(folder() / "shards/node-00001.h5");
  const VerifyReport report = verify_checkpoint(folder());
  EXPECT_FALSE(report.ok);
  EXPECT_THAT(report.problems, ::testing::Contains(HasSubstr("has 5000 bytes, should have")));
  EXPECT_THAT(report.problems, ::testing::Contains(HasSubstr("node-00001.h5' is missing")));
  std::filesystem::remove(folder() / "COMMITTED.json");
  EXPECT_THAT(verify_checkpoint(folder()).problems, ElementsAre(HasSubstr("COMMITTED.json")));
}

/// Reads the whole tensor in two parts.
void read_all(const CheckpointReader& reader, const TensorInfo& info) {
  const std::int64_t half = info.shape.numel() / 2;
  reader.read(info.key, 0, Tensor::empty(Shape{half}, info.dtype));
  reader.read(info.key, half, Tensor::empty(Shape{info.shape.numel() - half}, info.dtype));
}

class ReaderOfLayout : public ::testing::TestWithParam<std::tuple<Layout, Cut>> {};

TEST_P(ReaderOfLayout, FindsAFlippedBitOfEveryPiece) {
  const TempFolder directory;
  const auto [layout, cut] = GetParam();
  on_ranks(2, 2, [&, layout = layout, cut = cut](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_state(ranks, cut);
    fill(state, 1);
    Checkpointer checkpointer(comms, {.directory = directory.path(), .layout = layout});
    checkpointer.save_async(3, state).wait();
  });
  const std::filesystem::path folder = directory.path() / "step-00000003";
  const auto flip = [&](const std::string& file, std::uint64_t at) {
    std::fstream stream(folder / file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
  };
  const CheckpointReader whole(folder);
  for (const TensorInfo& info : whole.tensors()) {
    EXPECT_NO_THROW(read_all(whole, info));
    for (const PieceInfo& piece : info.pieces) {
      const std::string file = whole.files().at(piece.file).name;
      const std::uint64_t last =
          piece.file_offset + static_cast<std::uint64_t>(piece.numel) * size_of(info.dtype) - 1;
      flip(file, last);
      EXPECT_THAT([&] { read_all(CheckpointReader(folder), info); },
                  ::testing::ThrowsMessage<IoError>(HasSubstr("tensor '" + info.key)));
      EXPECT_NO_THROW(read_all(CheckpointReader(folder, {.verify = false}), info));
      flip(file, last);
    }
    EXPECT_NO_THROW(read_all(whole, info));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReaderOfLayout,
                         ::testing::Combine(::testing::Values(Layout::per_node, Layout::per_rank,
                                                              Layout::single_file),
                                            ::testing::Values(Cut::even, Cut::hybrid)));

TEST_F(Reader, SaysRemovedOfACheckpointThatASaveHasDeleted) {
  const CheckpointReader reader(folder());
  const Manifest manifest = read_manifest(folder() / "COMMITTED.json");
  std::filesystem::rename(folder(), directory_.path() / ".del-gone");
  EXPECT_THAT([&] { read_all(reader, reader.tensors().front()); },
              ::testing::ThrowsMessage<IoError>(HasSubstr("was removed meanwhile")));
  const VerifyReport report = verify_checkpoint(folder());
  EXPECT_TRUE(report.removed);
  EXPECT_TRUE(report.problems.empty());
}

}  // namespace
}  // namespace sherd::io::test
