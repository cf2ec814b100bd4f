#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "support/checkpoint_world.hpp"

/// Tensors that ranks hold in blocks, with the same contents as those of checkpoint_world.hpp.
namespace sherd::io::test {

/// How the ranks of a test lie over a tensor's first two dimensions: `rows` x the rest.
struct BlockGrid {
  int rows = 1;
  bool transposed = false;  ///< dimension 1 is cut by the outer mesh dimension
};

inline dtensor::Block block_of(const Shape& shape, const comm::Ranks& ranks,
                               const BlockGrid& grid) {
  const int columns = ranks.size() / grid.rows;
  std::array<dtensor::MeshDim, 2> mesh{
      dtensor::MeshDim{grid.rows, ranks.rank() / columns, grid.transposed ? 1 : 0},
      dtensor::MeshDim{columns, ranks.rank() % columns, grid.transposed ? 0 : 1}};
  return dtensor::shard_block(shape, mesh);
}

inline void add_block_tensor(dtensor::StateDict& state, const comm::Ranks& ranks,
                             const std::string& key, const Shape& shape, DType dtype,
                             const BlockGrid& grid) {
  dtensor::DTensor tensor;
  tensor.spec.name = key.substr(key.find('.') + 1);
  tensor.spec.global_shape = shape;
  tensor.spec.dtype = dtype;
  tensor.spec.block = block_of(shape, ranks, grid);
  tensor.spec.numel = tensor.spec.block->numel();
  tensor.local = Tensor::zeros(Shape{tensor.spec.numel}, dtype);
  state.tensors[key] = std::move(tensor);
}

/// A tensor that the rows of the grid cut and its columns hold alike.
inline void add_repeated_blocks(dtensor::StateDict& state, const comm::Ranks& ranks,
                                const std::string& key, const Shape& shape, DType dtype,
                                const BlockGrid& grid) {
  add_block_tensor(state, ranks, key, shape, dtype, grid);
  const int columns = ranks.size() / grid.rows;
  const dtensor::MeshDim mesh[] = {{grid.rows, ranks.rank() / columns, grid.transposed ? 1 : 0},
                                   {columns, ranks.rank() % columns, -1}};
  dtensor::DTensor& tensor = state.tensors[key];
  tensor.spec.placement = dtensor::Placement::hybrid;
  tensor.spec.block = dtensor::shard_block(shape, mesh);
  tensor.spec.numel = tensor.spec.block->numel();
  tensor.local = Tensor::zeros(Shape{tensor.spec.numel}, dtype);
}

/// Global element number of each local one.
inline std::vector<std::int64_t> global_elements(const dtensor::ShardSpec& spec) {
  std::vector<std::int64_t> elements(static_cast<std::size_t>(spec.numel));
  for (std::int64_t i = 0; i < spec.numel; ++i) {
    std::int64_t global = spec.offset + i;
    if (spec.block) {
      const std::vector<std::int64_t>& extents = spec.global_shape.extents();
      std::int64_t rest = i;
      std::int64_t stride = 1;
      global = 0;
      for (std::size_t d = extents.size(); d-- > 0;) {
        global += (spec.block->start[d] + rest % spec.block->count[d]) * stride;
        rest /= spec.block->count[d];
        stride *= extents[d];
      }
    }
    elements[static_cast<std::size_t>(i)] = global;
  }
  return elements;
}

/// fill() and differing_bytes() of checkpoint_world.hpp for either kind of tensor.
inline void fill_any(dtensor::StateDict& state, std::uint64_t seed) {
  for (auto& [key, tensor] : state.tensors) {
    const auto width = static_cast<std::int64_t>(size_of(tensor.spec.dtype));
    std::int64_t at = 0;
    for (const std::int64_t global : global_elements(tensor.spec)) {
      for (std::int64_t byte = 0; byte < width; ++byte) {
        tensor.local.raw()[at++] = pattern(seed, global * width + byte);
      }
    }
  }
}

inline void expect_filled_any(const dtensor::StateDict& state, std::uint64_t seed) {
  for (const auto& [key, tensor] : state.tensors) {
    const auto width = static_cast<std::int64_t>(size_of(tensor.spec.dtype));
    std::int64_t wrong = 0;
    std::int64_t at = 0;
    for (const std::int64_t global : global_elements(tensor.spec)) {
      for (std::int64_t byte = 0; byte < width; ++byte) {
        wrong += tensor.local.raw()[at++] != pattern(seed, global * width + byte) ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, 0) << key;
  }
}

/// Flat, replicated and block tensors together; a cube, blocks that several ranks hold, blocks
/// without elements on some ranks.
inline dtensor::StateDict make_mixed_state(const comm::Ranks& ranks, const BlockGrid& grid) {
  dtensor::StateDict state;
  add_block_tensor(state, ranks, "field.cube", {5, 7, 3}, DType::f64, grid);
  add_block_tensor(state, ranks, "field.plane", {11, 13}, DType::bf16, grid);
  add_block_tensor(state, ranks, "field.thin", {1, 3, 2}, DType::f32, grid);
  add_repeated_blocks(state, ranks, "field.twice", {6, 5}, DType::f16, grid);
  add_tensor(state, ranks, "model.flat", {37, 19}, DType::f32, Cut::even);
  add_tensor(state, ranks, "model.uneven", {5}, DType::u16, Cut::last_is_empty);
  add_tensor(state, ranks, "model.scalar", Shape{}, DType::f64, Cut::replicated);
  add_tensor(state, ranks, "model.nothing", {0, 4}, DType::f32, Cut::even);
  add_tensor(state, ranks, "model.copied", {3, 3}, DType::i32, Cut::replicated);
  state.tensors["model.flat"].spec.aliases = {"tied.flat"};
  state.per_rank["random"] = std::vector<std::byte>(static_cast<std::size_t>(5 + ranks.rank()),
                                                    static_cast<std::byte>(ranks.rank() + 1));
  state.common = {{"config", R"({"steps": 3})"}, {"step", "three"}};
  return state;
}

}  // namespace sherd::io::test
