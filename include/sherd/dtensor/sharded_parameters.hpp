#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sherd/dtensor/placement.hpp"
#include "sherd/tensor/shape.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd {

/// The part of one parameter inside a shard.
struct ShardSegment {
  std::string name;  ///< fully qualified parameter name
  Shape global_shape;
  std::int64_t parameter_begin = 0;  ///< first element, counted in the parameter
  std::int64_t shard_begin = 0;      ///< first element, counted in the shard
  std::int64_t count = 0;            ///< zero is legal: the parameter has nothing here
  dtensor::Placement placement = dtensor::Placement::sharded;
  std::vector<std::string> aliases;
};

/// One contiguous range of master parameters with its gradient, as the optimizer sees it. All 1-D
/// and of equal numel; the gradient may be of a narrower dtype; `compute` is undefined where the
/// master is what forward reads.
struct ParameterShard {
  Tensor parameter;
  Tensor gradient;
  Tensor compute;
  std::vector<ShardSegment> segments;
};

/// What an optimizer is built from. Only a sharded model makes one, so an optimizer can never hold
/// parameters from before sharding.
class ShardedParameters {
 public:
  virtual ~ShardedParameters() = default;
  ShardedParameters(const ShardedParameters&) = delete;
  ShardedParameters& operator=(const ShardedParameters&) = delete;

  [[nodiscard]] virtual std::span<const ParameterShard> shards() const = 0;
  /// Factor every gradient is multiplied with (clipping).
  [[nodiscard]] virtual double grad_scale() const = 0;
  /// Called once before the first shard is changed: waits until no rank reads the old values.
  /// Collective.
  virtual void begin_update() = 0;
  /// Called when shard i holds its new values; local.
  virtual void end_update(std::size_t shard) = 0;
  /// Zero-filled memory for an optimizer's state of one shard; local.
  [[nodiscard]] virtual Tensor make_state(const Shape& shape, DType dtype) {
    return Tensor::zeros(shape, dtype);
  }
  /// Forgets all gradients; local.
  virtual void zero_grad() = 0;

 protected:
  ShardedParameters() = default;
};

}  // namespace sherd
