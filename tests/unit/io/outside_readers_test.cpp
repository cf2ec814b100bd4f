#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sherd/base/half.hpp"
#include "sherd/io/checkpointer.hpp"
#include "sherd/io/consolidate.hpp"
#include "sherd/io/inspect.hpp"
#include "support/block_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/shell_output.hpp"
#include "support/temp_folder.hpp"

/// What h5dump, h5ls and h5py, which know nothing of us, see in a checkpoint of 2 x 2 ranks.
namespace sherd::io::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Output = sherd::test::ShellOutput;
using sherd::test::shell_output;

/// Element i of a tensor is i + 0.5, or i where there are no fractions.
void number(dtensor::DTensor& tensor) {
  std::int64_t local = 0;
  for (const std::int64_t global : global_elements(tensor.spec)) {
    const auto value = static_cast<float>(global) + 0.5F;
    switch (tensor.spec.dtype) {
      case DType::f32:
        tensor.local.data<float>()[local++] = value;
        break;
      case DType::bf16:
        tensor.local.data<BFloat16>()[local++] = BFloat16(value);
        break;
      case DType::f16:
        tensor.local.data<Float16>()[local++] = Float16(value);
        break;
      case DType::f64:
        tensor.local.data<double>()[local++] = value;
        break;
      default:
        tensor.local.data<std::int64_t>()[local++] = global;
    }
  }
}

void save_numbers(comm::MeshComms& comms, const std::filesystem::path& directory, Layout layout) {
  const comm::Ranks ranks{comms.world.get(), &comms.mesh};
  dtensor::StateDict state;
  add_tensor(state, ranks, "model.w", {3, 5}, DType::f32, Cut::even);
  add_tensor(state, ranks, "model.h", {2, 3}, DType::bf16, Cut::even);
  add_tensor(state, ranks, "model.f", {3}, DType::f16, Cut::even);
  add_tensor(state, ranks, "model.one", Shape{}, DType::f64, Cut::replicated);
  add_tensor(state, ranks, "model.none", {0, 4}, DType::f32, Cut::even);
  add_tensor(state, ranks, "optimizer.step", {5}, DType::i64, Cut::replicated);
  add_block_tensor(state, ranks, "field.u", {3, 5}, DType::f32, {2});
  add_block_tensor(state, ranks, "field.cube", {3, 4, 2}, DType::bf16, {2});
  state.tensors["model.w"].spec.aliases = {"tied.w"};
  for (auto& [key, tensor] : state.tensors) {
    number(tensor);
  }
  state.per_rank["random"] = {std::byte{1}, std::byte{2}};
  state.common["config"] = R"({"hidden": 64})";
  Checkpointer checkpointer(comms, {.directory = directory, .layout = layout});
  checkpointer.save_async(12, state).wait();
}

class SavedNumbers : public ::testing::TestWithParam<Layout> {
 protected:
  explicit SavedNumbers(Layout layout) {
    on_ranks(2, 2, [&](comm::MeshComms& comms) { save_numbers(comms, directory_.path(), layout); });
  }

  std::filesystem::path folder() const { return directory_.path() / "step-00000012"; }
  Output h5dump(const std::string& dataset) const {
    return shell_output("cd / && h5dump -y -w 0 -d " + dataset + " " +
                        (folder() / "index.h5").string());
  }

  TempFolder directory_;
};

class OutsideReaders : public SavedNumbers {
 protected:
  OutsideReaders() : SavedNumbers(Layout::per_node) {}
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
  const Output listing = shell_output("h5ls -r " + (folder() / "shards/node-00001.h5").string());
  EXPECT_EQ(listing.status, 0) << listing.text;
  EXPECT_THAT(listing.text, HasSubstr("/rank-00002/model/w"));
  EXPECT_THAT(listing.text, HasSubstr("/rank-00003/field/u"));
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
  const Output output = shell_output("/usr/bin/python3 -c \"" + script + "\"");
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

class OutsideReadersLayouts : public SavedNumbers {
 protected:
  OutsideReadersLayouts() : SavedNumbers(GetParam()) {}
};

TEST_P(OutsideReadersLayouts, H5dumpAndH5lsSeeFlatTensorsAndBlocks) {
  EXPECT_THAT(h5dump("/model/w").text, HasSubstr("5.5, 6.5, 7.5, 8.5, 9.5,"));
  const Output blocks = h5dump("/field/u");
  EXPECT_EQ(blocks.status, 0) << blocks.text;
  EXPECT_THAT(blocks.text, HasSubstr("0.5, 1.5, 2.5, 3.5, 4.5,"));
  EXPECT_THAT(blocks.text, HasSubstr("10.5, 11.5, 12.5, 13.5, 14.5"));
  EXPECT_THAT(blocks.text, HasSubstr("SIMPLE { ( 3, 5 ) / ( 3, 5 ) }"));
  EXPECT_THAT(h5dump("/field/cube").text, HasSubstr("22.5, 23.5"));
  const Output listing = shell_output("h5ls -r " + (folder() / "index.h5").string());
  EXPECT_THAT(listing.text, HasSubstr("/field/cube              Dataset {3, 4, 2}"));
  EXPECT_THAT(listing.text, HasSubstr("/model/h                 Dataset {2, 3}"));
}

TEST_P(OutsideReadersLayouts, H5pyReadsNumbers) {
  const std::string script = "import h5py, numpy; f = h5py.File('" +
                             (folder() / "index.h5").string() +
                             "', 'r'); cube = f['field/cube']; assert cube.shape == (3, 4, 2) and "
                             "(cube[...].ravel() == numpy.arange(24) + 0.5).all(), cube[...]; "
                             "assert (f['field/u'][1:, 2] == [7.5, 12.5]).all(); "
                             "assert (f['model/w'][...].ravel() == numpy.arange(15) + 0.5).all(); "
                             "assert f['meta/step'][()] == 12; print('all right')";
  EXPECT_EQ(shell_output("/usr/bin/python3 -c \"" + script + "\"").text, "all right\n");
}

INSTANTIATE_TEST_SUITE_P(All, OutsideReadersLayouts,
                         ::testing::Values(Layout::per_node, Layout::per_rank,
                                           Layout::single_file));

/// The names of all objects and types of a file, as the tools of HDF5 list them.
TEST_P(OutsideReadersLayouts, NoElementTypeIsNamed) {
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder())) {
    if (item.path().extension() == ".h5") {
      const Output dump = shell_output("h5dump -H " + item.path().string());
      EXPECT_EQ(dump.status, 0);
      EXPECT_THAT(dump.text, Not(HasSubstr("DATATYPE  \"/"))) << item.path();
      EXPECT_THAT(dump.text, Not(HasSubstr("HARDLINK \"/dtypes"))) << item.path();
    }
  }
}

/// h5repack and h5copy make whole copies, of which h5diff finds that they are equal.
TEST_P(OutsideReadersLayouts, Hdf5sToolsCopyAndCompareEveryKindOfFile) {
  consolidate_checkpoint(CheckpointReader(folder()), directory_.path() / "whole.h5");
  std::vector<std::filesystem::path> files;
  for (const auto& item : std::filesystem::recursive_directory_iterator(directory_.path())) {
    if (item.path().extension() == ".h5") {
      files.push_back(item.path());
    }
  }
  for (const std::filesystem::path& file : files) {
    // Beside the original, where the sources of virtual datasets are.
    const std::string copy = (folder() / "copy.h5").string();
    const Output packed = shell_output("h5repack " + file.string() + " " + copy + " && h5diff " +
                                       file.string() + " " + copy);
    EXPECT_EQ(packed.status, 0) << file << packed.text;
    std::filesystem::remove(copy);
  }
  const std::string index = (folder() / "index.h5").string();
  const std::string copy = (folder() / "copy.h5").string();
  std::string commands;
  for (const std::string group :
       {"model", "rank-00000", "rank-00001", "rank-00002", "rank-00003"}) {
    if (group == "model" || GetParam() == Layout::single_file) {  // its sources are in the index
      commands += "h5copy -i " + index + " -o " + copy + " -s /" + group + " -d /" + group + " && ";
    }
  }
  const Output copied = shell_output(commands + "h5diff " + index + " " + copy + " /model /model");
  EXPECT_EQ(copied.status, 0) << copied.text;
  const Output whole =
      shell_output("h5diff " + index + " " + (directory_.path() / "whole.h5").string() +
                   " /model /model && h5diff " + index + " " +
                   (directory_.path() / "whole.h5").string() + " /field /field");
  EXPECT_EQ(whole.status, 0) << whole.text;
}

/// A command of the documentation and what it says the command prints.
struct Documented {
  std::string command;
  std::vector<std::string> lines;
};

std::vector<Documented> worked_example() {
  std::ifstream page(SHERD_TEST_DATA "/../../docs/checkpoint-format.md");
  std::vector<Documented> commands;
  bool here = false;
  bool in_block = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) {
      here = line == "## A worked example";
    } else if (line.starts_with("```")) {
      in_block = !in_block;
    } else if (here && in_block && line.starts_with("$ ")) {
      commands.push_back({line.substr(2), {}});
    } else if (here && in_block) {
      commands.back().lines.push_back(line);
    }
  }
  return commands;
}

TEST_F(OutsideReaders, TheDocumentedDumpIsWhatToolsPrint) {
  const std::vector<Documented> commands = worked_example();
  EXPECT_GE(commands.size(), 5U);
  for (const Documented& documented : commands) {
    std::istringstream printed(
        shell_output("cd " + directory_.path().string() + " && " + documented.command).text);
    for (const std::string& expected : documented.lines) {
      std::string line;
      std::getline(printed, line);
      line.erase(line.find_last_not_of(' ') + 1);
      if (expected.find_first_not_of(" ") != std::string::npos &&
          expected.substr(expected.find_first_not_of(" ")) == "...") {
        break;
      }
      ASSERT_EQ(line, expected) << documented.command;
    }
  }
}

TEST_F(OutsideReaders, TheFolderMayBeMovedAsAWhole) {
  const auto elsewhere = directory_.path() / "moved";
  std::filesystem::rename(folder(), elsewhere);
  const Output output =
      shell_output("cd / && h5dump -d /model/w " + (elsewhere / "index.h5").string());
  EXPECT_THAT(output.text, HasSubstr("13.5, 14.5"));
  EXPECT_THAT(output.text, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace sherd::io::test
