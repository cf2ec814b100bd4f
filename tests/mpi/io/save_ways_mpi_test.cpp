#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "io/disk/file_system.hpp"
#include "io/format/manifest.hpp"
#include "io/save/write_queue.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"
#include "support/checkpoint_world.hpp"

/// The many ways to bring the same state to disk, and what a caller may do meanwhile.
namespace sherd::io::test {
namespace {

class SaveWays : public ::testing::Test {
 protected:
  CheckpointerOptions options(const char* name) const {
    CheckpointerOptions chosen;
    chosen.directory = directory_.path() / name;
    return chosen;
  }
  std::filesystem::path saved(const char* name) const {
    return directory_.path() / name / step_name(1);
  }
  void save(const CheckpointerOptions& chosen, const dtensor::StateDict& state) {
    Checkpointer checkpointer(comms_, chosen);
    checkpointer.save_async(1, state).wait();
    comms_.world->barrier();
  }
  void expect_loads(const CheckpointerOptions& chosen, dtensor::StateDict loaded,
                    std::uint64_t seed) {
    Checkpointer checkpointer(comms_, chosen);
    ASSERT_TRUE(checkpointer.load_latest(loaded));
    expect_filled(loaded, seed);
    if (ranks_.rank() == 0) {
      EXPECT_THAT(verify_checkpoint(saved(chosen.directory.filename().c_str())).problems,
                  ::testing::IsEmpty());
    }
    comms_.world->barrier();
  }
  /// The bytes of all pieces in the files a manifest names.
  std::map<std::string, std::string> raw_data(const char* name) const {
    const Manifest manifest = read_manifest(saved(name) / "COMMITTED.json");
    std::map<std::string, std::string> data;
    for (const TensorRecord& tensor : manifest.tensors) {
      for (const PieceRecord& piece : tensor.pieces) {
        std::ifstream in(saved(name) / manifest.files[piece.file].name, std::ios::binary);
        std::string bytes(static_cast<std::size_t>(piece.numel) * size_of(tensor.dtype), '\0');
        in.seekg(static_cast<std::streamoff>(piece.file_offset));
        in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        data[tensor.key] += bytes;
      }
    }
    return data;
  }

  comm::MeshComms comms_ = comm::make_mesh_comms();
  comm::Ranks ranks_{comms_.world.get(), &comms_.mesh};
  SharedDirectory directory_{comms_};
};

/// Large enough for several chunks of the smallest size, with an odd beginning of each.
dtensor::StateDict large_state(const comm::Ranks& ranks, Cut cut) {
  dtensor::StateDict state = make_state(ranks, cut);
  add_tensor(state, ranks, "model.large", {1031, 457}, DType::f32, cut);
  add_tensor(state, ranks, "optimizer.large.exp_avg", {1031, 457}, DType::f64, cut);
  return state;
}

TEST_F(SaveWays, BackendsWriteTheSameFile) {
  dtensor::StateDict state = large_state(ranks_, Cut::even);
  fill(state, 4);
  CheckpointerOptions chosen = options("pwrite");
  chosen.backend = WriteBackend::pwrite;
  save(chosen, state);
  const auto expected = raw_data("pwrite");
  std::vector<std::pair<const char*, WriteBackend>> others{{"mpio", WriteBackend::mpio}};
  if (io_uring_works()) {
    others.emplace_back("ring", WriteBackend::io_uring);
  }
  for (const auto& [name, backend] : others) {
    chosen = options(name);
    chosen.backend = backend;
    save(chosen, state);
    EXPECT_EQ(raw_data(name), expected) << name;
    if (ranks_.rank() == 0) {
      EXPECT_THAT(verify_checkpoint(saved(name)).problems, ::testing::IsEmpty()) << name;
    }
  }
}

TEST_F(SaveWays, EveryLayoutHoldsTheSameTensors) {
  for (const auto& [name, layout] : {std::pair{"per_node", Layout::per_node},
                                     {"per_rank", Layout::per_rank},
                                     {"single_file", Layout::single_file}}) {
    for (const WriteBackend backend : {WriteBackend::automatic, WriteBackend::mpio}) {
      dtensor::StateDict state = make_state(ranks_, Cut::even);
      fill(state, 5);
      CheckpointerOptions chosen = options(name);
      chosen.layout = layout;
      chosen.backend = backend;
      chosen.overwrite = true;
      save(chosen, state);
      expect_loads(chosen, make_state(ranks_, Cut::last_is_empty), 5);
      const std::size_t files = read_manifest(saved(name) / "COMMITTED.json").files.size();
      EXPECT_EQ(files, layout == Layout::single_file ? 1U
                       : layout == Layout::per_rank  ? 1U + static_cast<unsigned>(ranks_.size())
                                                     : 2U);
    }
  }
}

TEST_F(SaveWays, AStateLargerThanTheStagingMemoryGoesInWaves) {
  dtensor::StateDict state = large_state(ranks_, Cut::even);
  fill(state, 6);
  CheckpointerOptions chosen = options("waves");
  chosen.staging_bytes_per_node = 1;  // as little as can be: two chunks of 64 KiB a rank
  for (const WriteBackend backend : {WriteBackend::automatic, WriteBackend::pwrite}) {
    chosen.backend = backend;
    chosen.overwrite = true;
    save(chosen, state);
    expect_loads(chosen, large_state(ranks_, Cut::last_is_empty), 6);
  }
}

TEST_F(SaveWays, ALazySaveHoldsWhatWasThereWhenItBegan) {
  dtensor::StateDict state = large_state(ranks_, Cut::even);
  int group = 0;
  for (auto& [key, tensor] : state.tensors) {
    tensor.stage_group = group++ % 3;
  }
  state.tensors.at("model.norm.weight").volatile_contents = true;
  fill(state, 7);
  CheckpointerOptions chosen = options("lazy");
  chosen.staging_bytes_per_node = 1;
  {
    Checkpointer checkpointer(comms_, chosen);
    const SaveTicket ticket = checkpointer.save_lazily(1, state);
    fill(state.tensors.at("model.norm.weight"), 8);  // as a forward may
    state.per_rank["random"].assign(state.per_rank["random"].size(), std::byte{0});
    state.common["step"] = "8";
    for (int done = 0; done < 3; ++done) {
      ticket.wait_staged(done);
      for (auto& [key, tensor] : state.tensors) {
        if (tensor.stage_group == done) {
          fill(tensor, 8);
        }
      }
    }
    ticket.wait();
    EXPECT_GE(ticket.stall_seconds(), 0.0);
  }
  comms_.world->barrier();
  Checkpointer checkpointer(comms_, chosen);
  dtensor::StateDict loaded = large_state(ranks_, Cut::even);
  ASSERT_TRUE(checkpointer.load_latest(loaded));
  expect_filled(loaded, 7);
  EXPECT_EQ(loaded.per_rank.at("random").front(), static_cast<std::byte>(ranks_.rank() + 1));
  EXPECT_EQ(loaded.common.at("step"), "7");
}

TEST_F(SaveWays, TheTicketTellsTheEventsInOrderAndTheFileKeepsThem) {
  dtensor::StateDict state = large_state(ranks_, Cut::even);
  std::uint64_t bytes = 0;
  for (const auto& [key, tensor] : state.tensors) {
    bytes += tensor.spec.placement == dtensor::Placement::sharded ? tensor.local.nbytes() : 0;
  }
  Checkpointer checkpointer(comms_, options("ticket"));
  const SaveTicket ticket = checkpointer.save_async(1, state);
  EXPECT_GE(ticket.times().staged, 0.0) << "all is copied when save_async returns";
  ticket.wait();
  const SaveTimes times = ticket.times();
  EXPECT_LE(times.staged, times.written);
  EXPECT_LE(times.written, times.durable);
  EXPECT_LE(times.durable, times.committed);
  const SaveProgress progress = ticket.progress();
  EXPECT_EQ(progress.bytes_written, progress.bytes_total);
  EXPECT_GE(progress.bytes_total, bytes);
  EXPECT_EQ(progress.seconds_left, 0.0);
  comms_.world->barrier();
  const Manifest manifest = read_manifest(saved("ticket") / "COMMITTED.json");
  ASSERT_EQ(manifest.timing.size(), static_cast<std::size_t>(ranks_.size()));
  const RankTiming& mine = manifest.timing[static_cast<std::size_t>(ranks_.rank())];
  EXPECT_EQ(mine.rank, ranks_.rank());
  EXPECT_EQ(mine.bytes, static_cast<std::int64_t>(progress.bytes_total));
  EXPECT_GT(mine.staged_us, 0);
  EXPECT_LE(mine.written_us, mine.durable_us);
}

TEST_F(SaveWays, SavesWhileTheRanksTalk) {
  dtensor::StateDict state = make_state(ranks_, Cut::even);
  Checkpointer checkpointer(comms_, {.directory = directory_.path() / "many", .keep_last = 2});
  std::vector<double> values(1000, 1.0);
  for (std::int64_t step = 1; step <= 20; ++step) {
    fill(state, static_cast<std::uint64_t>(step));
    const SaveTicket ticket = checkpointer.save_lazily(step, state);
    comms_.world
        ->all_reduce(values.data(), values.data(), values.size(), DType::f64, comm::ReduceOp::max)
        .wait();
    ticket.wait_staged();
  }
  dtensor::StateDict loaded = make_state(ranks_, Cut::even);
  const auto report = checkpointer.load_latest(loaded);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 20);
  expect_filled(loaded, 20);
}

/// A disk that stores one bit wrongly, without a word, in a rank's first write of much data.
class ForgetfulFileSystem : public FileSystem {
 public:
  ssize_t pwrite(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    if (bytes < 262144 || flipped_.exchange(true)) {
      return FileSystem::pwrite(fd, data, bytes, offset);
    }
    std::unique_ptr<std::byte, decltype(&std::free)> wrong(
        static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)),
        &std::free);
    std::memcpy(wrong.get(), data, bytes);
    wrong.get()[bytes / 2] ^= std::byte{4};
    return FileSystem::pwrite(fd, wrong.get(), bytes, offset);
  }
  void be_honest() { flipped_ = true; }

 private:
  std::atomic<bool> flipped_{false};
};

TEST_F(SaveWays, ReadingBackFindsWhatTheDiskForgot) {
  dtensor::StateDict state = large_state(ranks_, Cut::even);
  fill(state, 9);
  CheckpointerOptions chosen = options("forgetful");
  chosen.verify_after_save = true;
  {
    const auto disk = std::make_shared<ForgetfulFileSystem>();
    Checkpointer checkpointer(comms_, chosen, disk);
    try {
      checkpointer.save_async(1, state).wait();
      ADD_FAILURE() << "committed";
    } catch (const IoError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("read back differently"));
    }
    EXPECT_FALSE(std::filesystem::exists(saved("forgetful")));
    disk->be_honest();  // a rank that another's failure stopped has not written yet
    checkpointer.save_async(1, state).wait();
  }
  comms_.world->barrier();
  expect_loads(chosen, large_state(ranks_, Cut::last_is_empty), 9);
}

TEST_F(SaveWays, AnUnknownBackendInTheEnvironmentIsRefused) {
  ::setenv("SHERD_IO", "pread", 1);
  EXPECT_THROW(Checkpointer(comms_, options("named")), ConfigError);
  ::unsetenv("SHERD_IO");
}

TEST_F(SaveWays, MpioNeedsMpi) {
  CheckpointerOptions chosen = options("threads");
  chosen.directory += std::to_string(ranks_.rank());
  chosen.backend = WriteBackend::mpio;
  comm::run_inproc_mesh(1, 2, [&](comm::MeshComms& threads) {
    EXPECT_THROW(Checkpointer(threads, chosen), ConfigError);
  });
}

}  // namespace
}  // namespace sherd::io::test
