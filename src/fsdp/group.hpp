#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sherd/fsdp/fully_shard_options.hpp"
#include "sherd/fsdp/group_layout.hpp"
#include "sherd/fsdp/memory_report.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::fsdp {

/// What a slot holds that holds no group.
inline constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

/// One buffer of a group: its parameters that are trainable or not and stored in one dtype.
struct FlatBuffer {
  GroupLayout layout;
  std::vector<nn::NamedParameter> parameters;  // in the order of layout.slots()
  bool trainable = true;
  std::size_t group = 0;
  DType master = DType::f32;   // what the optimizer keeps
  DType compute = DType::f32;  // what forward reads; the master itself where the two are equal

  bool apart = false;  // the master is kept apart although the dtypes are equal

  /// Whether forward reads a copy of the master.
  [[nodiscard]] bool rounded() const noexcept { return apart || master != compute; }
  [[nodiscard]] std::int64_t numel() const noexcept { return layout.buffer_numel(); }
  /// Bytes of the whole buffer as forward reads it.
  [[nodiscard]] std::size_t compute_bytes() const noexcept {
    return static_cast<std::size_t>(numel()) * size_of(compute);
  }
};

/// A parameter outside all groups.
struct IgnoredParameter {
  nn::NamedParameter parameter;
  bool all_reduce = false;
};

/// The parameters that are gathered, given back and reduced together.
struct Group {
  std::string name;  // qualified module name, "" for root
  nn::Module* module = nullptr;
  std::vector<std::size_t> buffers;  // indices into GroupSet::buffers
};

struct GroupSet {
  std::vector<FlatBuffer> buffers;
  std::vector<Group> groups;  // [0] is the root; the others in declaration order
  std::vector<IgnoredParameter> ignored;

  /// Index of the group of that name; throws ArgumentError listing the names.
  [[nodiscard]] std::size_t find(const std::string& name) const;
};

/// Splits a module's parameters into groups and lays each out over `pieces` ranks.
[[nodiscard]] GroupSet make_groups(nn::Module& root, const FullyShardOptions& options, int pieces);

[[nodiscard]] std::vector<GroupReport> group_reports(const GroupSet& set);

/// Elements every start and piece is aligned to: 64 bytes in the narrowest dtype the buffer is ever
/// kept or sent in.
[[nodiscard]] std::int64_t alignment_of(const MixedPrecisionPolicy& policy, DType master);

/// "all_gather(layers.3)", for messages.
[[nodiscard]] std::string group_label(const char* operation, const GroupSet& set,
                                      std::size_t group);

/// A parameter's place in its buffer.
[[nodiscard]] inline Tensor view_of(const Tensor& buffer, const ParameterSlot& slot) {
  return buffer.slice(slot.offset, slot.numel).reshape(slot.shape);
}

/// Ring slot of a group's transient buffers: the root has one of its own (the last), the others
/// take turns.
[[nodiscard]] inline std::size_t ring_slot(std::size_t group, std::size_t ring) {
  return group == 0 ? ring : (group - 1) % ring;
}

/// Bytes each slot of a ring of `ring` + root must hold: the largest group that uses it, as forward
/// reads it.
[[nodiscard]] std::vector<std::size_t> gather_slot_bytes(const GroupSet& set, std::size_t ring);
/// The same in elements of the trainable buffers.
[[nodiscard]] std::vector<std::int64_t> gradient_slot_numel(const GroupSet& set, std::size_t ring);

/// Bytes before a buffer in its group's gather slot; elements before it among the trainable ones.
[[nodiscard]] std::size_t bytes_before(const GroupSet& set, std::size_t buffer);
[[nodiscard]] std::int64_t trainable_before(const GroupSet& set, std::size_t buffer);

}  // namespace sherd::fsdp
