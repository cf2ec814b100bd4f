#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "sherd/dtensor/shard_spec.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::dtensor {

/// A distributed tensor as one rank sees it. `local` is 1-D with spec.numel elements of spec.dtype;
/// it shares memory with whoever made it (loading writes through it).
struct DTensor {
  ShardSpec spec;
  Tensor local;
  /// Tensors of one group change together; a lazy save copies lower groups first and lets the
  /// caller wait for them by number (io::SaveTicket::wait_staged). The same on all ranks.
  int stage_group = 0;
  /// Changes while the caller computes (a buffer written by forward): a lazy save copies it at
  /// once.
  bool volatile_contents = false;
};

/// Named state of a program: what a checkpoint saves and loads. Keys are dotted paths such as
/// "model.layers.0.mlp.up_proj.weight" or "optimizer.layers.0.mlp.up_proj.weight.exp_avg"; every
/// rank has the same keys in the same order. `per_rank` blobs differ between ranks (random
/// streams), `common` text is the same on all of them (step, position, configuration as JSON).
struct StateDict {
  std::map<std::string, DTensor> tensors;
  std::map<std::string, std::vector<std::byte>> per_rank;
  std::map<std::string, std::string> common;
};

}  // namespace sherd::dtensor
