#include <gmock/gmock.h>

#include <cstddef>
#include <fstream>
#include <random>

#include "io/disk/crc32c.hpp"
#include "io/format/checkpoint_files.hpp"
#include "io/format/digests.hpp"
#include "io/format/manifest.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/sanitizer.hpp"
#include "support/temp_folder.hpp"

/// Whatever happens to the bytes of a checkpoint: verify and load notice, say where, and the one
/// before it is loaded.
namespace sherd::io::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kTwoRanks = 2;
constexpr std::uint64_t kSeed = 20260101;

dtensor::StateDict small_state(const comm::Ranks& ranks) {
  dtensor::StateDict state;
  add_tensor(state, ranks, "model.embed.weight", {31, 7}, DType::f32, Cut::even);
  add_tensor(state, ranks, "model.norm.weight", {5}, DType::bf16, Cut::even);
  add_tensor(state, ranks, "optimizer.embed.weight.exp_avg", {31, 7}, DType::f32, Cut::even);
  add_tensor(state, ranks, "optimizer.step", {1}, DType::i64, Cut::replicated);
  state.per_rank["random"] = std::vector<std::byte>(40, static_cast<std::byte>(ranks.rank() + 1));
  state.common = {{"config", R"({"hidden_size": 64})"}};
  return state;
}

/// Where in a checkpoint a byte lies.
struct Place {
  std::string file;
  std::string tensor;  ///< empty: of none
};

class Damaged : public ::testing::Test {
 protected:
  Damaged() {
    on_ranks(1, kTwoRanks, [this](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      dtensor::StateDict state = small_state(ranks);
      for (const std::int64_t number : {1, 2}) {
        fill(state, static_cast<std::uint64_t>(number));
        checkpointer.save_async(number, state).wait();
      }
    });
    manifest_ = read_manifest(step(2) / "COMMITTED.json");
    for (const FileRecord& file : manifest_.files) {
      files_.push_back(file.name);
    }
    files_.emplace_back("COMMITTED.json");
    fs::copy(directory_.path(), original_.path() / "all", fs::copy_options::recursive);
  }

  fs::path step(int number) const { return directory_.path() / step_name(number); }

  void restore() const {
    fs::remove_all(directory_.path());
    fs::copy(original_.path() / "all", directory_.path(), fs::copy_options::recursive);
  }

  Place place_of(const std::string& file, std::uint64_t offset) const {
    for (const TensorRecord& tensor : manifest_.tensors) {
      for (const PieceRecord& piece : tensor.pieces) {
        const auto bytes = static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype);
        if (manifest_.files[piece.file].name == file && offset >= piece.file_offset &&
            offset < piece.file_offset + bytes) {
          return {file, tensor.key};
        }
      }
    }
    return {file, ""};
  }

  /// Both see the damage of step 2 and name `where`; the load takes step 1.
  void expect_noticed(const Place& where, const std::string& what) {
    const auto named = AllOf(HasSubstr(where.file), HasSubstr(where.tensor));
    const VerifyReport verified = verify_checkpoint(step(2));
    EXPECT_FALSE(verified.ok) << what;
    EXPECT_THAT(verified.problems, Contains(named)) << what;
    on_ranks(1, 1, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      dtensor::StateDict loaded = small_state(ranks);
      const auto report = checkpointer.load_latest(loaded, kAnyRanks);
      ASSERT_TRUE(report.has_value()) << what;
      EXPECT_EQ(report->step, 1) << what;
      EXPECT_THAT(report->notes, Contains(named)) << what;
      expect_filled(loaded, 1);
    });
    EXPECT_FALSE(fs::exists(step(2)));
    EXPECT_TRUE(fs::exists(directory_.path() / ".bad-step-00000002"));
  }

  void unset_aside() const { fs::rename(directory_.path() / ".bad-step-00000002", step(2)); }

  static void flip(const fs::path& path, std::uint64_t offset, int bit) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get() ^ (1 << bit);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte));
    ASSERT_TRUE(file.good());
  }

  TempFolder directory_{kMemory};
  TempFolder original_{kMemory};
  Manifest manifest_;
  std::vector<std::string> files_;
};

TEST_F(Damaged, AThousandFlippedBits) {
  std::mt19937_64 random(kSeed);
  std::size_t in_tensors = 0;
  const int flips = sherd::testing::kSanitized ? 100 : 1000;
  for (int i = 0; i < flips && !HasFailure(); ++i) {
    // Half of them in tensors, which are a small part of these files; else anywhere in any file.
    std::string file = files_[random() % files_.size()];
    std::uint64_t offset = random() % fs::file_size(step(2) / file);
    if (i % 2 == 0) {
      const TensorRecord& tensor = manifest_.tensors[random() % manifest_.tensors.size()];
      const PieceRecord& piece = tensor.pieces[random() % tensor.pieces.size()];
      file = manifest_.files[piece.file].name;
      offset = piece.file_offset +
               random() % (static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype));
    }
    const int bit = static_cast<int>(random() % 8);
    const Place where = place_of(file, offset);
    in_tensors += where.tensor.empty() ? 0U : 1U;
    flip(step(2) / file, offset, bit);
    expect_noticed(
        where, "bit " + std::to_string(bit) + " of byte " + std::to_string(offset) + " of " + file);
    unset_aside();
    flip(step(2) / file, offset, bit);
  }
  EXPECT_GE(in_tensors, static_cast<std::size_t>(flips) / 2);
  EXPECT_TRUE(verify_checkpoint(step(2)).ok);
}

TEST_F(Damaged, FilesThatAreTooShortOrMissing) {
  for (const std::string& file : files_) {
    const std::uint64_t bytes = fs::file_size(step(2) / file);
    for (const std::uint64_t left : {bytes - 1, bytes / 2, std::uint64_t{0}}) {
      fs::resize_file(step(2) / file, left);
      expect_noticed({file, ""}, file + " cut to " + std::to_string(left));
      restore();
    }
    fs::resize_file(step(2) / file, bytes + 1);
    expect_noticed({file, ""}, file + " with a byte more");
    restore();
    if (file != "COMMITTED.json") {  // without it the folder is no checkpoint
      fs::remove(step(2) / file);
      expect_noticed({file, ""}, file + " missing");
      restore();
    }
  }
}

TEST_F(Damaged, FilesOfTwoStepsSwapped) {
  for (const std::string& file : files_) {
    const fs::path aside = directory_.path() / "aside";
    fs::rename(step(1) / file, aside);
    fs::rename(step(2) / file, step(1) / file);
    fs::rename(aside, step(2) / file);
    for (const int number : {1, 2}) {
      EXPECT_FALSE(verify_checkpoint(step(number)).ok) << file << " of step " << number;
    }
    on_ranks(1, 1, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory_.path()});
      dtensor::StateDict loaded = small_state(ranks);
      EXPECT_THAT([&] { (void)checkpointer.load_latest(loaded, kAnyRanks); },
                  ::testing::ThrowsMessage<IoError>(AllOf(
                      HasSubstr(file == "COMMITTED.json" ? "what is left of some" : "are damaged"),
                      HasSubstr("step-00000001"), HasSubstr("step-00000002"))))
          << file;
    });
    restore();
  }
}

/// The digest of what lies between the datasets of index.h5, as the file is now.
std::uint32_t structure_of_index(const fs::path& folder, const Manifest& manifest) {
  const CheckpointFiles files(folder, manifest);
  for (const DigestItem& item : list_digests(manifest)) {
    if (item.file == 0 && item.tensor == nullptr &&
        item.expected == manifest.files[0].structure_crc32c) {
      std::uint32_t crc = 0;
      for (const Extent& extent : item.extents) {
        std::vector<std::byte> bytes(extent.bytes);
        files[0].read(extent.offset, bytes);
        crc = crc32c(bytes, crc);
      }
      return crc;
    }
  }
  return 0;
}

// Digests that were made anew let HDF5 see the damage: the verifier outlives what HDF5 does with
// it.
TEST_F(Damaged, AnIndexThatIsSignedAnewCannotEndTheVerifier) {
  std::mt19937_64 random(kSeed);
  int found = 0;
  for (int i = 0; i < 40; ++i) {
    for (int bits = 0; bits < 4; ++bits) {
      flip(step(2) / "index.h5", random() % 6000, static_cast<int>(random() % 8));
    }
    Manifest changed = manifest_;
    changed.files[0].structure_crc32c = structure_of_index(step(2), manifest_);
    std::ofstream(step(2) / "COMMITTED.json") << to_json(changed);
    found += verify_checkpoint(step(2)).ok ? 0 : 1;
    restore();
  }
  EXPECT_GE(found, 30);  // the others hit bytes that HDF5 does not use
}

// Copied and moved directories are the same checkpoints.
TEST_F(Damaged, CopiedAndMovedDirectoriesLoad) {
  const fs::path moved = original_.path() / "moved";
  fs::rename(directory_.path(), moved);
  const fs::path copied = original_.path() / "copied";
  fs::copy(moved, copied, fs::copy_options::recursive);
  for (const fs::path& directory : {moved, copied}) {
    on_ranks(1, 3, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      Checkpointer checkpointer(comms, {.directory = directory});
      dtensor::StateDict loaded = small_state(ranks);
      const auto report = checkpointer.load_latest(loaded, kAnyRanks);
      ASSERT_TRUE(report.has_value());
      EXPECT_EQ(report->step, 2);
      expect_filled(loaded, 2);
      fill(loaded, 3);
      checkpointer.save_async(3, loaded).wait();
    });
    EXPECT_TRUE(verify_checkpoint(directory / step_name(3)).ok);
  }
}

}  // namespace
}  // namespace sherd::io::test
