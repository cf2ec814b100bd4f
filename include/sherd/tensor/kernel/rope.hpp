#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sherd/tensor/kernel/matmul.hpp"
#include "sherd/tensor/kernel/path.hpp"

namespace sherd::kernel {

/// cos and sin of position * theta^(-2i/head_dim), each [positions, head_dim/2], f32 (f64 if
/// asked), computed on the host.
struct RopeTables {
  Tensor cos;
  Tensor sin;
};
[[nodiscard]] RopeTables make_rope_tables(std::int64_t positions, std::int64_t head_dim,
                                          double theta, DType dtype = DType::f32,
                                          MemoryKind where = MemoryKind::host);
/// theta^(-2i/head_dim) for each pair of a head's elements.
[[nodiscard]] std::vector<double> rope_frequencies(std::int64_t head_dim, double theta);
/// The same tables for frequencies of other origin, one for each pair.
[[nodiscard]] RopeTables make_rope_tables(std::int64_t positions,
                                          std::span<const double> frequencies,
                                          DType dtype = DType::f32,
                                          MemoryKind where = MemoryKind::host);

/// Rotates the two halves of each head (Hugging Face's rotate_half) and packs the heads:
/// x [batch*seq, heads*head_dim] -> y [batch, heads, seq, head_dim]. `tables` null: packs only.
void rope_pack(const Tensor& x, const RopeTables* tables, const Tensor& y,
               Path path = Path::automatic);

/// The transpose of rope_pack: dy [batch, heads, seq, head_dim] -> dx [batch*seq, heads*head_dim].
void rope_unpack(const Tensor& dy, const RopeTables* tables, const Tensor& dx, Write write_dx,
                 Path path = Path::automatic);

}  // namespace sherd::kernel
