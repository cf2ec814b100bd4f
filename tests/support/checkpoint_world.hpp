#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "io/commit/folder.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/flat_range.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/io/checkpointer.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io::test {

/// A fresh directory that all ranks agree on; removed by rank 0 at the end.
class SharedDirectory {
 public:
  explicit SharedDirectory(comm::MeshComms& comms) : ranks_{comms.world.get(), &comms.mesh} {
    std::string name = ranks_.rank() == 0 ? folder_.emplace().path().string() : "";
    broadcast_text(ranks_, name);
    path_ = name;
  }
  ~SharedDirectory() { ranks_.world->barrier(); }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  comm::Ranks ranks_;
  std::optional<TempFolder> folder_;  // of rank 0, which makes and removes it
  std::filesystem::path path_;
};

/// Loads on any number of ranks, whatever becomes of per-rank data.
inline const LoadOptions kAnyRanks{.per_rank = PerRank::keep};

/// How a test cuts its tensors over the ranks.
enum class Cut { even, first_rank_only, last_is_empty, hybrid, replicated };

inline dtensor::FlatRange cut_range(Cut cut, std::int64_t total, const comm::Ranks& world) {
  const int ranks = world.size();
  const int rank = world.rank();
  switch (cut) {
    case Cut::hybrid:
      return dtensor::even_part({0, total}, world.mesh->local_size(),
                                world.mesh->coord(rank).local);
    case Cut::even:
      return dtensor::even_part({0, total}, ranks, rank);
    case Cut::first_rank_only:
      return rank == 0 ? dtensor::FlatRange{0, total} : dtensor::FlatRange{total, 0};
    case Cut::last_is_empty:
      return ranks == 1          ? dtensor::FlatRange{0, total}
             : rank == ranks - 1 ? dtensor::FlatRange{total, 0}
                                 : dtensor::even_part({0, total}, ranks - 1, rank);
    case Cut::replicated:
      break;
  }
  return {0, total};
}

/// The byte that element data of a tensor holds at byte position `at` under `seed`.
inline std::byte pattern(std::uint64_t seed, std::int64_t at) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(at);
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ULL;
  return static_cast<std::byte>(x >> 56);
}

inline void fill(dtensor::DTensor& tensor, std::uint64_t seed) {
  const auto width = static_cast<std::int64_t>(size_of(tensor.spec.dtype));
  for (std::int64_t i = 0; i < tensor.spec.numel * width; ++i) {
    tensor.local.raw()[i] = pattern(seed, tensor.spec.offset * width + i);
  }
}

inline std::int64_t differing_bytes(const dtensor::DTensor& tensor, std::uint64_t seed) {
  const auto width = static_cast<std::int64_t>(size_of(tensor.spec.dtype));
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.spec.numel * width; ++i) {
    count += tensor.local.raw()[i] != pattern(seed, tensor.spec.offset * width + i) ? 1 : 0;
  }
  return count;
}

inline void add_tensor(dtensor::StateDict& state, const comm::Ranks& ranks, const std::string& key,
                       Shape shape, DType dtype, Cut cut) {
  const dtensor::FlatRange range = cut_range(cut, shape.numel(), ranks);
  dtensor::DTensor tensor;
  tensor.spec.name = key.substr(key.find('.') + 1);
  tensor.spec.global_shape = std::move(shape);
  tensor.spec.dtype = dtype;
  tensor.spec.placement = cut == Cut::replicated ? dtensor::Placement::replicated
                          : cut == Cut::hybrid   ? dtensor::Placement::hybrid
                                                 : dtensor::Placement::sharded;
  tensor.spec.offset = range.first;
  tensor.spec.numel = range.numel;
  tensor.local = Tensor::zeros(Shape{range.numel}, dtype);
  state.tensors[key] = std::move(tensor);
}

/// Shapes that matter: matrices, a vector, more ranks than elements, one element, none, 3-D; each
/// dtype.
inline dtensor::StateDict make_state(const comm::Ranks& ranks, Cut cut) {
  dtensor::StateDict state;
  add_tensor(state, ranks, "model.layers.0.attention.wq.weight", {37, 19}, DType::f32, cut);
  add_tensor(state, ranks, "model.layers.0.mlp.weight", {64, 2048}, DType::bf16, cut);
  add_tensor(state, ranks, "model.norm.weight", {5}, DType::f16, cut);
  add_tensor(state, ranks, "model.scalar", Shape{}, DType::f64, cut);
  add_tensor(state, ranks, "model.nothing", {0, 7}, DType::f32, cut);
  add_tensor(state, ranks, "model.cube", {3, 5, 7}, DType::u16, cut);
  add_tensor(state, ranks, "model.bytes", {4099}, DType::u8, cut);
  add_tensor(state, ranks, "optimizer.layers.0.attention.wq.weight.exp_avg", {37, 19}, DType::f32,
             cut);
  add_tensor(state, ranks, "optimizer.step", {2}, DType::i64, Cut::replicated);
  add_tensor(state, ranks, "optimizer.counts", {1}, DType::i32, Cut::replicated);
  state.per_rank["random"] = std::vector<std::byte>(static_cast<std::size_t>(11 + ranks.rank()),
                                                    static_cast<std::byte>(ranks.rank() + 1));
  state.per_rank["empty"] = {};
  state.common = {{"config", R"({"hidden_size": 64})"}, {"step", "7"}};
  return state;
}

inline void fill(dtensor::StateDict& state, std::uint64_t seed) {
  for (auto& [key, tensor] : state.tensors) {
    fill(tensor, seed);
  }
}

inline void expect_filled(const dtensor::StateDict& state, std::uint64_t seed) {
  for (const auto& [key, tensor] : state.tensors) {
    EXPECT_EQ(differing_bytes(tensor, seed), 0) << key;
  }
}

}  // namespace sherd::io::test
