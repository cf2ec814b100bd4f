// Which parameters form a group and a buffer of it, and the sizes of slots that groups share.
#include "fsdp/group.hpp"

#include <algorithm>
#include <set>

#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

using Claimed = std::set<const void*>;

bool default_wrap(const std::set<const nn::Module*>& list_elements, const nn::Module& module) {
  return list_elements.contains(&module);
}

std::set<const nn::Module*> module_list_elements(nn::Module& root) {
  std::set<const nn::Module*> found;
  for (const auto& [name, module] : nn::named_modules(root)) {
    if (dynamic_cast<const nn::ModuleList*>(module) != nullptr) {
      for (const auto& [child_name, child] : module->children()) {
        found.insert(child.get());
      }
    }
  }
  return found;
}

class GroupMaker {
 public:
  GroupMaker(nn::Module& root, const FullyShardOptions& options, int pieces)
      : root_(root),
        options_(options),
        pieces_(pieces),
        list_elements_(module_list_elements(root)) {
    for (nn::NamedParameter& parameter : nn::named_parameters(root)) {
      const Ignore ignore = options.ignore ? options.ignore(parameter.name) : Ignore::no;
      if (ignore == Ignore::no) {
        all_.push_back(std::move(parameter));
      } else {
        set_.ignored.push_back({std::move(parameter), ignore == Ignore::all_reduce});
      }
    }
  }

  GroupSet make() {
    expect(!all_.empty(), "the module has no parameters (nothing to shard)");
    std::vector<std::pair<std::string, nn::Module*>> wrapped;
    for (const auto& [name, module] : nn::named_modules(root_)) {
      if (module != &root_ && wraps(name, *module)) {
        wrapped.emplace_back(name, module);
      }
    }
    // Inner modules come after the ones around them and claim first.
    std::vector<std::vector<nn::NamedParameter>> claims(wrapped.size());
    for (std::size_t i = wrapped.size(); i-- > 0;) {
      claims[i] = claim(wrapped[i].first);
    }
    add_group("", &root_, rest());
    for (std::size_t i = 0; i < wrapped.size(); ++i) {
      if (!claims[i].empty()) {
        add_group(wrapped[i].first, wrapped[i].second, claims[i]);
      }
    }
    return std::move(set_);
  }

 private:
  bool wraps(const std::string& name, const nn::Module& module) const {
    return options_.wrap ? options_.wrap(name, module) : default_wrap(list_elements_, module);
  }

  // A parameter shared with a module outside the group belongs to the root, which is gathered for
  // the whole step.
  bool shared_outside(const nn::NamedParameter& parameter, const std::string& prefix) const {
    return std::any_of(parameter.aliases.begin(), parameter.aliases.end(),
                       [&](const std::string& alias) { return alias.rfind(prefix + ".", 0) != 0; });
  }

  std::vector<nn::NamedParameter> claim(const std::string& prefix) {
    std::vector<nn::NamedParameter> mine;
    for (const nn::NamedParameter& parameter : all_) {
      const bool below = parameter.name.rfind(prefix + ".", 0) == 0;
      const void* id = parameter.value.identity();
      if (below && !claimed_.contains(id) && !shared_outside(parameter, prefix)) {
        claimed_.insert(id);
        mine.push_back(parameter);
      }
    }
    return mine;
  }

  std::vector<nn::NamedParameter> rest() const {
    std::vector<nn::NamedParameter> left;
    for (const nn::NamedParameter& parameter : all_) {
      if (!claimed_.contains(parameter.value.identity())) {
        left.push_back(parameter);
      }
    }
    return left;
  }

  void add_group(const std::string& name, nn::Module* module,
                 const std::vector<nn::NamedParameter>& parameters) {
    const std::size_t group = set_.groups.size();
    set_.groups.push_back({name, module, {}});
    // Trainable before frozen; within each, dtypes in the order they come up.
    std::vector<Kind> kinds;
    for (const bool trainable : {true, false}) {
      for (const nn::NamedParameter& parameter : parameters) {
        const Kind kind = kind_of(parameter);
        if (kind.trainable == trainable &&
            std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
          kinds.push_back(kind);
        }
      }
    }
    for (const Kind& kind : kinds) {
      add_buffer(group, kind, parameters);
    }
  }

  /// What parameters must have in common to lie in one buffer.
  struct Kind {
    bool trainable = true;
    DType master = DType::f32;
    friend bool operator==(const Kind&, const Kind&) = default;
  };

  Kind kind_of(const nn::NamedParameter& parameter) const {
    const nn::Variable& value = parameter.value;
    const bool floating = is_floating(value.dtype());
    return {value.requires_grad(),
            floating ? options_.mixed_precision.master_dtype : value.dtype()};
  }

  void add_buffer(std::size_t group, const Kind& kind,
                  const std::vector<nn::NamedParameter>& parameters) {
    std::vector<nn::NamedParameter> chosen;
    std::vector<GroupLayout::Entry> entries;
    for (const nn::NamedParameter& parameter : parameters) {
      if (kind_of(parameter) == kind) {
        const Shape& shape = parameter.value.shape();
        entries.push_back({parameter.name, shape,
                           options_.shard_unit ? options_.shard_unit(parameter.name, shape)
                                               : ShardUnit::element});
        chosen.push_back(parameter);
      }
    }
    const MixedPrecisionPolicy& policy = options_.mixed_precision;
    set_.groups[group].buffers.push_back(set_.buffers.size());
    set_.buffers.push_back({GroupLayout(entries, pieces_, alignment_of(policy, kind.master)),
                            std::move(chosen), kind.trainable, group, kind.master,
                            is_floating(kind.master) ? policy.param_dtype : kind.master,
                            options_.offload.params});
  }

  nn::Module& root_;
  const FullyShardOptions& options_;
  int pieces_;
  std::vector<nn::NamedParameter> all_;
  std::set<const nn::Module*> list_elements_;
  Claimed claimed_;
  GroupSet set_;
};

}  // namespace

GroupSet make_groups(nn::Module& root, const FullyShardOptions& options, int pieces) {
  return GroupMaker(root, options, pieces).make();
}

std::string group_label(const char* operation, const GroupSet& set, std::size_t group) {
  const std::string& name = set.groups[group].name;
  return std::string(operation) + "(" + (name.empty() ? "root" : name) + ")";
}

std::size_t GroupSet::find(const std::string& name) const {
  std::string names;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].name == name) {
      return g;
    }
    names += (names.empty() ? "'" : ", '") + groups[g].name + "'";
  }
  throw ArgumentError("no group is named '" + name + "'. Try one of: " + names);
}

std::vector<GroupReport> group_reports(const GroupSet& set) {
  std::vector<GroupReport> reports;
  for (const Group& group : set.groups) {
    GroupReport report{group.name, 0, 0, 0, 0};
    for (const std::size_t b : group.buffers) {
      report.trainable += set.buffers[b].trainable ? set.buffers[b].layout.parameter_numel() : 0;
      report.parameters += set.buffers[b].layout.parameter_numel();
      report.buffer_numel += set.buffers[b].layout.buffer_numel();
      report.piece_numel += set.buffers[b].layout.piece_numel();
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::int64_t alignment_of(const MixedPrecisionPolicy& policy, DType master) {
  std::size_t narrowest = size_of(master);
  if (is_floating(master)) {
    for (const DType dtype :
         {policy.param_dtype, policy.reduce(), policy.cross_reduce(), policy.accumulate()}) {
      narrowest = std::min(narrowest, size_of(dtype));
    }
  }
  return static_cast<std::int64_t>(64 / narrowest);
}

std::vector<std::size_t> gather_slot_bytes(const GroupSet& set, std::size_t ring) {
  std::vector<std::size_t> bytes(ring + 1, 0);
  for (std::size_t g = 0; g < set.groups.size(); ++g) {
    std::size_t needed = 0;
    for (const std::size_t b : set.groups[g].buffers) {
      needed += set.buffers[b].compute_bytes();
    }
    std::size_t& slot = bytes[ring_slot(g, ring)];
    slot = std::max(slot, needed);
  }
  return bytes;
}

std::vector<std::int64_t> gradient_slot_numel(const GroupSet& set, std::size_t ring) {
  std::vector<std::int64_t> numel(ring + 1, 0);
  for (std::size_t g = 0; g < set.groups.size(); ++g) {
    std::int64_t needed = 0;
    for (const std::size_t b : set.groups[g].buffers) {
      needed += set.buffers[b].trainable ? set.buffers[b].numel() : 0;
    }
    std::int64_t& slot = numel[ring_slot(g, ring)];
    slot = std::max(slot, needed);
  }
  return numel;
}

std::size_t bytes_before(const GroupSet& set, std::size_t buffer) {
  std::size_t bytes = 0;
  for (const std::size_t b : set.groups[set.buffers[buffer].group].buffers) {
    if (b == buffer) {
      break;
    }
    bytes += set.buffers[b].compute_bytes();
  }
  return bytes;
}

std::int64_t trainable_before(const GroupSet& set, std::size_t buffer) {
  std::int64_t numel = 0;
  for (const std::size_t b : set.groups[set.buffers[buffer].group].buffers) {
    if (b == buffer) {
      break;
    }
    numel += set.buffers[b].trainable ? set.buffers[b].numel() : 0;
  }
  return numel;
}

}  // namespace sherd::fsdp
