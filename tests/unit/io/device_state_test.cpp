// States whose tensors are on a device: saved while it computes, loaded back to it.
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/io/full_state.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io::test {
namespace {

/// Runs `body(comms, ranks)` on ranks that have an emulated device each.
template <class Body>
void on_devices(int ranks, std::uint64_t seed, const Body& body) {
  on_ranks(1, ranks, [&](comm::MeshComms& comms) {
    const comm::Ranks here{comms.world.get(), &comms.mesh};
    const auto device =
        runtime::make_emulated({.seed = 10 * seed + static_cast<std::uint64_t>(here.rank())});
    const runtime::DeviceScope scope(device);
    body(comms, here);
  });
}

/// A state on the device. What it holds is on its way there; until then it is NaN.
dtensor::StateDict state_on_device(const comm::Ranks& ranks, Cut cut, std::uint64_t seed) {
  dtensor::StateDict state = make_state(ranks, cut);
  fill(state, seed);
  int group = 0;
  for (auto& [key, tensor] : state.tensors) {
    const Tensor values = tensor.local;
    tensor.stage_group = group++ / 3;
    tensor.local = Tensor::empty(values.shape(), values.dtype(), MemoryKind::device);
    copy(values, tensor.local);
  }
  return state;
}

void expect_on_device(const dtensor::StateDict& state, std::uint64_t seed) {
  for (const auto& [key, tensor] : state.tensors) {
    EXPECT_TRUE(tensor.local.is_on_device()) << key;
    dtensor::DTensor on_host = tensor;
    on_host.local = to_host(tensor.local);
    EXPECT_EQ(differing_bytes(on_host, seed), 0) << key;
  }
}

/// What an update does as soon as wait_staged() lets it, shard by shard.
void overwrite(const SaveTicket& ticket, const dtensor::StateDict& state) {
  for (int group = 0; group < 4; ++group) {
    ticket.wait_staged(group);
    for (const auto& [key, tensor] : state.tensors) {
      if (tensor.stage_group == group) {
        tensor.local.fill_zero();
      }
    }
  }
}

TEST(DeviceState, ALazySaveReadsBetweenTheWorkBeforeAndTheUpdateAfter) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const TempFolder directory;
    on_devices(2, seed, [&](comm::MeshComms& comms, const comm::Ranks& ranks) {
      Checkpointer checkpointer(comms, {.directory = directory.path(),
                                        .verify_after_save = true,
                                        .staging_bytes_per_node = seed % 2 == 0 ? 1U : 1U << 30});
      const dtensor::StateDict state = state_on_device(ranks, Cut::even, seed);
      const SaveTicket ticket = checkpointer.save_lazily(1, state);
      overwrite(ticket, state);
      ticket.wait();
      dtensor::StateDict loaded = make_state(ranks, Cut::even);
      ASSERT_TRUE(checkpointer.load_latest(loaded));
      expect_filled(loaded, seed);
    });
  }
}

TEST(DeviceState, WhatChangesDuringForwardIsCopiedAtOnce) {
  const TempFolder directory;
  on_devices(1, 1, [&](comm::MeshComms& comms, const comm::Ranks& ranks) {
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    dtensor::StateDict state = state_on_device(ranks, Cut::even, 3);
    for (auto& [key, tensor] : state.tensors) {
      tensor.volatile_contents = true;
    }
    const SaveTicket ticket = checkpointer.save_lazily(1, state);
    for (const auto& [key, tensor] : state.tensors) {
      tensor.local.fill_zero();
    }
    ticket.wait();
    dtensor::StateDict loaded = make_state(ranks, Cut::even);
    ASSERT_TRUE(checkpointer.load_latest(loaded));
    expect_filled(loaded, 3);
  });
}

TEST(DeviceState, IsLoadedOnAnyNumberOfRanks) {
  const TempFolder directory;
  on_devices(2, 1, [&](comm::MeshComms& comms, const comm::Ranks& ranks) {
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    checkpointer.save_async(1, state_on_device(ranks, Cut::even, 7)).wait();
  });
  on_devices(3, 2, [&](comm::MeshComms& comms, const comm::Ranks& ranks) {
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    dtensor::StateDict state = state_on_device(ranks, Cut::last_is_empty, 8);
    ASSERT_TRUE(checkpointer.load_latest(state, kAnyRanks));
    expect_on_device(state, 7);
  });
}

TEST(DeviceState, ARefusedLoadLeavesItAsItWas) {
  const TempFolder directory;
  on_devices(1, 1, [&](comm::MeshComms& comms, const comm::Ranks& ranks) {
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    checkpointer.save_async(1, state_on_device(ranks, Cut::even, 7)).wait();
    dtensor::StateDict other = state_on_device(ranks, Cut::even, 8);
    add_tensor(other, ranks, "model.more", {3}, DType::f32, Cut::even);
    EXPECT_THROW((void)checkpointer.load_latest(other), ConfigError);
    other.tensors.erase("model.more");
    expect_on_device(other, 8);
  });
}

TEST(DeviceState, OtherFormsTakeItToo) {
  const TempFolder directory;
  on_devices(2, 1, [&](comm::MeshComms& comms, const comm::Ranks& ranks) {
    const std::filesystem::path whole = directory.path() / "whole.safetensors";
    const std::filesystem::path local = directory.path() / "local";
    save_full_state(comms, state_on_device(ranks, Cut::even, 4), whole);
    save_local_state(comms, state_on_device(ranks, Cut::even, 5), local);
    dtensor::StateDict state = state_on_device(ranks, Cut::even, 6);
    (void)load_full_state(comms, whole, state);
    expect_on_device(state, 4);
    load_local_state(comms, local, state);
    expect_on_device(state, 5);
  });
}

}  // namespace
}  // namespace sherd::io::test
