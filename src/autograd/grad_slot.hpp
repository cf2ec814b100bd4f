#pragma once

#include "sherd/autograd/variable.hpp"

namespace sherd::autograd {

/// Where the gradient of one variable gathers: of a leaf, or of one output of a recorded operation.
/// A gradient handed over whole is shared, not copied, until somebody wants to add to it.
struct GradSlot {
  Shape shape;
  DType dtype = DType::f32;
  MemoryKind where = MemoryKind::host;
  Tensor tensor;          ///< memory; its content counts only when `written`
  bool written = false;   ///< something has been written since the last clear
  bool may_share = true;  ///< whether the memory of a gradient handed over may be kept
  bool borrowed = false;  ///< `tensor` was handed over: others may be reading it

  GradSlot() = default;
  GradSlot(Shape slot_shape, DType slot_dtype, MemoryKind data)
      : shape(std::move(slot_shape)), dtype(slot_dtype), where(where_for(shape, data)) {}

  /// Where the gradient of such data is kept: with the data, but for a single value. Those scale
  /// what comes behind them (a loss), and the host knows them without asking a device.
  [[nodiscard]] static MemoryKind where_for(const Shape& shape, MemoryKind data) noexcept {
    return shape.rank() == 0 ? MemoryKind::host : data;
  }

  /// Memory to write the next contribution to. Allocates, or un-shares, where needed.
  [[nodiscard]] GradTarget target();
  /// Adds `gradient`; takes it over where it is the first. Undefined: nothing to add.
  void pass(Tensor gradient);
  void clear();

 private:
  [[nodiscard]] bool others_hold_it() const noexcept { return borrowed && tensor.shares_storage(); }
};

/// What gradients of such data are kept in: f64 for f64, f32 for every other floating type.
[[nodiscard]] constexpr DType leaf_grad_dtype(DType data) noexcept {
  return data == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace sherd::autograd
