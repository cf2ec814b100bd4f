// Names of other codes: every text of UTF-8 is stored in every layout; what cannot be is refused.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "io/format/link_path.hpp"
#include "io/layout/utf8.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/consolidate.hpp"
#include "sherd/io/full_state.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/shell_output.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io::test {
namespace {

using ::testing::HasSubstr;

/// No two exclude each other.
const std::vector<std::string>& foreign_names() {
  static const std::vector<std::string> names{"a.b",        "a/b",
                                              "a%b",        "a%2Fb",
                                              "a%%b",       "%",
                                              "%%",         "%b",
                                              "%d%s",       "a..b",
                                              ".a",         "c.",
                                              "x..",        "encoder/layer_0/kernel",
                                              "/",          "fields/E/x",
                                              "../up",      "./here",
                                              "sp ace",     "tab\there",
                                              "quote'\"\\", "new\nline",
                                              "*?[]",       "grün.θ.日本.🙂",
                                              "~",          "$HOME",
                                              "\x1b[31mred"};
  return names;
}

std::string h5py_check(const std::filesystem::path& file) {
  // The documented rule for names, once more, in Python.
  const std::string script = R"(
import h5py, numpy, sys
f = h5py.File(sys.argv[1], 'r')
def path(key):
    return '/'.join('%00' if not part else part.replace('%', '%25').replace('/', '%2F') for part in key.split('.'))
keys = open(sys.argv[2], encoding='utf-8', newline='').read().split('\0')[:-1]
for key in keys:
    data = f[path(key)]
    assert data.shape == (4, 3) and (data[...].ravel() == numpy.arange(12)).all(), (key, data[...])
    assert str(data.attrs['fqn'], 'utf-8') if isinstance(data.attrs['fqn'], bytes) else data.attrs['fqn'] == key
print(len(keys), 'names')
)";
  const TempFolder folder;
  std::string list;
  for (const std::string& name : foreign_names()) {
    list += name + '\0';
  }
  const auto keys = folder.write("keys", list);
  const auto program = folder.write("check.py", script);
  return sherd::test::shell_output("cd / && /usr/bin/python3 " + program.string() + " " +
                                   file.string() + " " + keys.string())
      .text;
}

dtensor::StateDict named_state(const comm::Ranks& ranks, float first) {
  dtensor::StateDict state;
  for (const std::string& name : foreign_names()) {
    add_tensor(state, ranks, name, {4, 3}, DType::f32, Cut::even);
    dtensor::DTensor& tensor = state.tensors.at(name);
    tensor.spec.name = name;
    for (std::int64_t i = 0; i < tensor.spec.numel; ++i) {
      tensor.local.data<float>()[i] = first + static_cast<float>(tensor.spec.offset + i);
    }
    state.per_rank[name] = {std::byte{7}};
    state.common[name] = name;
  }
  return state;
}

class Names : public ::testing::TestWithParam<std::tuple<Layout, int>> {};

TEST_P(Names, OfAnyTextAreSavedLoadedVerifiedAndRead) {
  const auto [layout, size] = GetParam();
  const TempFolder directory;
  on_ranks(1, size, [&, layout = layout](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = named_state(ranks, 0.0F);
    Checkpointer checkpointer(comms, {.directory = directory.path(), .layout = layout});
    checkpointer.save_async(1, state).wait();
    dtensor::StateDict other = named_state(ranks, 100.0F);
    other.common.clear();
    ASSERT_TRUE(checkpointer.load_latest(other));
    for (const std::string& name : foreign_names()) {
      const dtensor::DTensor& tensor = other.tensors.at(name);
      for (std::int64_t i = 0; i < tensor.spec.numel; ++i) {
        EXPECT_EQ(tensor.local.data<float>()[i], static_cast<float>(tensor.spec.offset + i));
      }
      EXPECT_EQ(other.common[name], name);
    }
  });
  const auto folder = directory.path() / "step-00000001";
  const VerifyReport report = verify_checkpoint(folder);
  EXPECT_TRUE(report.ok) << report.problems.front();
  const std::string all = std::to_string(foreign_names().size()) + " names\n";
  EXPECT_EQ(h5py_check(folder / "index.h5"), all);
  consolidate_checkpoint(CheckpointReader(folder), directory.path() / "whole.h5");
  EXPECT_EQ(h5py_check(directory.path() / "whole.h5"), all);
}

INSTANTIATE_TEST_SUITE_P(All, Names,
                         ::testing::Combine(::testing::Values(Layout::per_node, Layout::per_rank,
                                                              Layout::single_file),
                                            ::testing::Values(1, 2, 3)));

TEST(StateNames, TheirPathsLeadBack) {
  for (const std::string& name : foreign_names()) {
    EXPECT_EQ(key_of_path(link_path(name)), name);
  }
  EXPECT_EQ(key_of_path("/a%zz/100%"), "a%zz.100%") << "of files that others wrote";
}

TEST(StateNames, FullStatesHaveThemToo) {
  for (const FullFormat format : {FullFormat::hdf5, FullFormat::safetensors}) {
    const TempFolder directory;
    on_ranks(1, 2, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = named_state(ranks, 0.0F);
      save_full_state(comms, state, directory.path() / "whole", {.format = format});
      dtensor::StateDict other = named_state(ranks, 100.0F);
      (void)load_full_state(comms, directory.path() / "whole", other);
      const dtensor::DTensor& tensor = other.tensors.at("a%b");
      EXPECT_EQ(tensor.local.data<float>()[0], static_cast<float>(tensor.spec.offset));
    });
  }
}

/// The message that every rank gets for what `spoil` makes of a good state; nothing may be written.
std::string refusal(const std::function<void(dtensor::StateDict&, const comm::Ranks&)>& spoil) {
  std::string first;
  const TempFolder directory;
  for (const Layout layout : {Layout::per_node, Layout::single_file}) {
    on_ranks(1, 3, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state;
      add_tensor(state, ranks, "good", {4, 3}, DType::f32, Cut::even);
      spoil(state, ranks);
      const auto full = directory.path() / "full.h5";
      const auto save_whole = [&] {
        save_full_state(comms, state, full, {.format = FullFormat::hdf5});
      };
      Checkpointer checkpointer(comms, {.directory = directory.path() / "ckpt", .layout = layout});
      const std::string message =
          message_of<ArgumentError>([&] { checkpointer.save_async(1, state).wait(); });
      EXPECT_NE(message, "") << "on rank " << ranks.rank();
      EXPECT_NE(message_of<ArgumentError>(save_whole), "");
      if (ranks.rank() == 0) {
        first = message;
      }
    });
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path() / "ckpt"));
  return first;
}

TEST(StateNames, OtherBytesAreRefusedOnAllRanks) {
  for (const std::string& bad : {std::string("bad\xff"), std::string("nul\0x", 5),
                                 std::string("half\xc3"), std::string("long\xc0\xaf")}) {
    EXPECT_THAT(refusal([&](auto& state, const auto& ranks) {
                  add_tensor(state, ranks, bad, {4}, DType::f32, Cut::even);
                }),
                HasSubstr("is not UTF-8"));
    EXPECT_THAT(refusal([&](auto& state, const auto&) { state.tensors["good"].spec.name = bad; }),
                HasSubstr("the name of tensor 'good'"));
    EXPECT_THAT(
        refusal([&](auto& state, const auto&) { state.tensors["good"].spec.aliases = {bad}; }),
        HasSubstr("alias"));
    EXPECT_THAT(refusal([&](auto& state, const auto&) { state.common[bad] = "x"; }),
                HasSubstr("common text"));
    EXPECT_THAT(refusal([&](auto& state, const auto&) { state.common["text"] = bad; }),
                HasSubstr("common text 'text'"));
  }
  EXPECT_THAT(refusal([](auto& state, const auto& ranks) {
                add_tensor(state, ranks, "bad\xff", {4}, DType::f32, Cut::even);
              }),
              HasSubstr("'bad\\xff'"));
}

TEST(StateNames, ThatExcludeEachOtherAreRefused) {
  EXPECT_THAT(refusal([](auto& state, const auto&) {
                state.common = {{"a", ""}, {"a.b", ""}};
              }),
              HasSubstr("common texts 'a' and 'a.b'"));
  EXPECT_THAT(refusal([](auto& state, const auto&) {
                state.common = {{"step.x", ""}};
              }),
              HasSubstr("'step' and 'step.x'"));
  EXPECT_THAT(refusal([](auto& state, const auto&) {
                state.common = {{"step", ""}, {"step_text", ""}};
              }),
              HasSubstr("'step_text'"));
  EXPECT_THAT(refusal([](auto& state, const auto& ranks) {
                add_tensor(state, ranks, std::string(20000, 'x'), {4}, DType::f32, Cut::even);
              }),
              HasSubstr("20000 bytes long"));
}

TEST(StateNames, MoreDimensionsThanHdf5HasAndNothingAtAllAreRefused) {
  const std::string message = refusal([](auto& state, const auto& ranks) {
    add_tensor(state, ranks, "deep", Shape(std::vector<std::int64_t>(33, 1)), DType::f32,
               Cut::replicated);
  });
  EXPECT_THAT(message, HasSubstr("tensor 'deep' has 33 dimensions"));
  EXPECT_THAT(refusal([](auto& state, const auto&) { state.tensors.clear(); }),
              HasSubstr("the state is empty"));
}

TEST(StateNames, ThirtyTwoDimensionsAndTextsAloneAreFine) {
  const TempFolder directory;
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state;
    std::vector<std::int64_t> extents(32, 1);
    extents[7] = 3;
    extents[31] = 2;
    add_tensor(state, ranks, "deep", Shape(extents), DType::f32, Cut::even);
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    checkpointer.save_async(1, state).wait();
    dtensor::StateDict texts;
    texts.common["only"] = "this";
    checkpointer.save_async(2, texts).wait();
    texts.common["only"] = "";
    ASSERT_TRUE(checkpointer.load_latest(texts));
    EXPECT_EQ(texts.common["only"], "this");
  });
  for (const char* step : {"step-00000001", "step-00000002"}) {
    EXPECT_TRUE(verify_checkpoint(directory.path() / step).ok) << step;
  }
}

TEST(Utf8, IsWhatUnicodeSaysItIs) {
  for (const char* good : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8_without_nul(good)) << printable(good);
  }
  for (const char* bad : {"\x80", "\xc1\x81", "\xc2", "\xe0\x9f\x80", "\xed\xa0\x80", "\xe1\x80",
                          "\xf0\x8f\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xffz"}) {
    EXPECT_FALSE(is_utf8_without_nul(bad)) << printable(bad);
  }
  EXPECT_EQ(printable("gr\xc3\xbcn\n\xff"), "gr\xc3\xbcn\\x0a\\xff");
}

}  // namespace
}  // namespace sherd::io::test
