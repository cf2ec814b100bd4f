#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sherd/tensor/shape.hpp"

namespace sherd::fsdp {

/// What of a parameter no two ranks may share: nothing, a row (last dimension), all of it.
enum class ShardUnit : std::uint8_t { element, row, tensor };

/// Where one parameter lies in its group's buffer.
struct ParameterSlot {
  std::string name;
  Shape shape;
  std::int64_t numel = 0;
  std::int64_t offset = 0;  ///< first element in the buffer
};

/// The part of one parameter that lies in one piece of the buffer.
struct SlotOverlap {
  std::size_t slot = 0;              ///< index into GroupLayout::slots()
  std::int64_t parameter_begin = 0;  ///< first element, counted in the parameter
  std::int64_t piece_begin = 0;      ///< first element, counted in the piece
  std::int64_t count = 0;
};

/// Many parameters in one buffer: one after the other in declaration order, each start aligned, the
/// total padded to `pieces` equal, aligned pieces. Pure arithmetic. Zero-element and 0-d parameters
/// and fewer elements than pieces are legal.
class GroupLayout {
 public:
  struct Entry {
    std::string name;
    Shape shape;
    ShardUnit unit = ShardUnit::element;
  };
  /// Where an entry asks for a coarser unit, the piece grows and gaps open so that no unit is cut
  /// (a parameter stays contiguous). `alignment` in elements. Throws ArgumentError unless pieces
  /// and alignment are positive.
  GroupLayout(const std::vector<Entry>& entries, int pieces, std::int64_t alignment);

  [[nodiscard]] const std::vector<ParameterSlot>& slots() const noexcept { return slots_; }
  [[nodiscard]] int pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::int64_t piece_numel() const noexcept { return piece_numel_; }
  [[nodiscard]] std::int64_t buffer_numel() const noexcept { return piece_numel_ * pieces_; }
  /// Elements of the parameters themselves, without padding.
  [[nodiscard]] std::int64_t parameter_numel() const noexcept;
  /// What of each parameter lies in [begin, begin + count) of the buffer; empty overlaps left out.
  [[nodiscard]] std::vector<SlotOverlap> overlaps(std::int64_t begin, std::int64_t count) const;
  [[nodiscard]] std::vector<SlotOverlap> piece_overlaps(int piece) const {
    return overlaps(piece * piece_numel_, piece_numel_);
  }

 private:
  std::vector<ParameterSlot> slots_;
  int pieces_;
  std::int64_t piece_numel_ = 0;
};

}  // namespace sherd::fsdp
