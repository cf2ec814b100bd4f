#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/fsdp/group_layout.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::fsdp {

/// One buffer of a group: all its trainable or all its frozen parameters.
struct FlatBuffer {
  GroupLayout layout;
  std::vector<nn::NamedParameter> parameters;  // in the order of layout.slots()
  bool trainable = true;
  std::size_t group = 0;
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
};

/// Splits a module's parameters into groups and lays each out over `pieces` ranks.
[[nodiscard]] GroupSet make_groups(nn::Module& root, const FullyShardOptions& options, int pieces);

[[nodiscard]] std::vector<GroupReport> group_reports(const GroupSet& set);

/// Elements every start and piece is aligned to: 64 bytes in the narrowest dtype kept.
[[nodiscard]] std::int64_t alignment_of(const MixedPrecisionPolicy& policy);

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

/// Elements each slot of a ring of `ring` + root must hold: the largest group that uses it.
[[nodiscard]] std::vector<std::int64_t> ring_slot_numel(const GroupSet& set, std::size_t ring,
                                                        bool trainable_only);

}  // namespace sherd::fsdp
