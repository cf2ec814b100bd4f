#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <string>

#include "sherd/base/half.hpp"
#include "sherd/io/checkpointer.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temporary_directory.hpp"

/// What h5dump, h5ls and h5py, which know nothing of us, see in a checkpoint of 2 x 2 ranks.
namespace sherd::io::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Output {
  int status = -1;
  std::string text;
};

Output run(const std::string& command) {
  Output output;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), got);
  }
  output.status = ::pclose(pipe);
  return output;
}

class OutsideReaders : public ::testing::Test {
 protected:
  OutsideReaders() {
    on_ranks(2, 2, [this](comm::MeshComms& comms) {
      const Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state;
      add_tensor(state, ranks, "model.w", {3, 5}, DType::f32, Cut::even);
      add_tensor(state, ranks, "model.h", {2, 3}, DType::bf16, Cut::even);
      add_tensor(state, ranks, "model.f", {3}, DType::f16, Cut::even);
      add_tensor(state, ranks, "model.one", Shape{}, DType::f64, Cut::replicated);
      add_tensor(state, ranks, "model.none", {0, 4}, DType::f32, Cut::even);
      add_tensor(state, ranks, "optimizer.step", {5}, DType::i64, Cut::replicated);
      state.tensors["model.w"].spec.aliases = {"tied.w"};
      for (auto& [key, tensor] : state.tensors) {
        number(tensor);
      }
      state.per_rank["random"] = {std::byte{1}, std::byte{2}};
      state.common["config"] = R"({"hidden": 64})";
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      checkpointer.save_async(12, state).wait();
    });
  }

  /// Element i of a tensor is i + 0.5, or i where there are no fractions.
  static void number(dtensor::DTensor& tensor) {
    for (std::int64_t i = 0; i < tensor.spec.numel; ++i) {
      const auto value = static_cast<float>(tensor.spec.offset + i) + 0.5F;
      switch (tensor.spec.dtype) {
        case DType::f32:
          tensor.local.data<float>()[i] = value;
          break;
        case DType::bf16:
          tensor.local.data<BFloat16>()[i] = BFloat16(value);
          break;
        case DType::f16:
          tensor.local.data<Float16>()[i] = Float16(value);
          break;
        case DType::f64:
          tensor.local.data<double>()[i] = value;
          break;
        default:
          tensor.local.data<std::int64_t>()[i] = tensor.spec.offset + i;
      }
    }
  }

  std::filesystem::path folder() const { return directory_.path() / "step-00000012"; }
  Output h5dump(const std::string& dataset) const {
    return run("cd / && h5dump -y -w 0 -d " + dataset + " " + (folder() / "index.h5").string());
  }

  TemporaryDirectory directory_;
};

TEST_F(OutsideReaders, H5dumpPrintsGlobalTensors) {
  const Output f32 = h5dump("/model/w");
  EXPECT_EQ(f32.status, 0) << f32.text;
  EXPECT_THAT(f32.text, HasSubstr("0.5, 1.5, 2.5, 3.5, 4.5,"));
  EXPECT_THAT(f32.text, HasSubstr("10.5, 11.5, 12.5, 13.5, 14.5"));
  EXPECT_THAT(f32.text, HasSubstr("SIMPLE { ( 3, 5 ) / ( 3, 5 ) }"));
  EXPECT_THAT(h5dump("/model/h").text, HasSubstr("0.5, 1.5, 2.5,"));
  EXPECT_THAT(h5dump("/model/h").text, HasSubstr("3.5, 4.5, 5.5"));
  EXPECT_THAT(h5dump("/model/f").text, HasSubstr("0.5, 1.5, 2.5"));
  EXPECT_THAT(h5dump("/model/one").text, HasSubstr("0.5"));
  EXPECT_THAT(h5dump("/optimizer/step").text, HasSubstr("0, 1, 2, 3, 4"));
  EXPECT_THAT(h5dump("/meta/step").text, HasSubstr("12"));
  EXPECT_THAT(h5dump("/meta/config").text, HasSubstr("hidden"));
  EXPECT_THAT(h5dump("/model/tied/w").text, HasSubstr("12.5, 13.5, 14.5"));
}

TEST_F(OutsideReaders, H5lsListsShardFilesWithoutTheIndex) {
  const Output listing = run("h5ls -r " + (folder() / "shards/node-00001.h5").string());
  EXPECT_EQ(listing.status, 0) << listing.text;
  EXPECT_THAT(listing.text, HasSubstr("/rank-00002/model/w"));
  EXPECT_THAT(listing.text, HasSubstr("/rank-00003/meta/random"));
  EXPECT_THAT(listing.text, Not(HasSubstr("rank-00001")));
}

TEST_F(OutsideReaders, H5pyReadsNumbers) {
  const std::string script =
      "import h5py, numpy; f = h5py.File('" + (folder() / "index.h5").string() +
      "', 'r'); w = f['model/w'][...]; assert w.shape == (3, 5) and "
      "(w.ravel() == numpy.arange(15) + 0.5).all(), w; h = f['model/h'][...]; "
      "assert (h.ravel() == numpy.arange(6) + 0.5).all(), h; "
      "assert f['model/none'].shape == (0, 4); "
      "assert f['model/w'].attrs['fqn'] == 'w' or f['model/w'].attrs['fqn'] == b'w'; "
      "assert f['model/tied/w'] == f['model/w']; print('all right')";
  const Output output = run("/usr/bin/python3 -c \"" + script + "\"");
  EXPECT_EQ(output.text, "all right\n");
}

TEST_F(OutsideReaders, AMissingShardReadsAsNaNNeverAsZeros) {
  std::filesystem::remove(folder() / "shards/node-00001.h5");
  const Output f32 = h5dump("/model/w");
  EXPECT_THAT(f32.text, HasSubstr("0.5, 1.5, 2.5, 3.5, 4.5,"));
  EXPECT_THAT(f32.text, HasSubstr("nan, nan, nan, nan, nan"));
  EXPECT_THAT(h5dump("/model/h").text, HasSubstr("nan"));
  EXPECT_THAT(h5dump("/model/f").text, HasSubstr("nan"));
}

TEST_F(OutsideReaders, TheFolderMayBeMovedAsAWhole) {
  const auto elsewhere = directory_.path() / "moved";
  std::filesystem::rename(folder(), elsewhere);
  const Output output = run("cd / && h5dump -d /model/w " + (elsewhere / "index.h5").string());
  EXPECT_THAT(output.text, HasSubstr("13.5, 14.5"));
  EXPECT_THAT(output.text, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace sherd::io::test
