#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/runtime/topology.hpp"

namespace sherd::runtime {

enum class Severity : std::uint8_t {
  note,     ///< dealt with; worth knowing
  warning,  ///< right, but slower than it need be
  error     ///< a run of the kind that the text names would be wrong, and is refused
};

[[nodiscard]] std::string_view to_string(Severity severity);

/// Something about a launch that its user should change; `text` is one line, "what (why). Try: the
/// line to change".
struct Finding {
  std::string id;  ///< "ranks_share_cores", ...: docs/topology.md lists them
  Severity severity = Severity::note;
  std::string text;
};

/// What is wrong with where the ranks are. Pure. At most one finding of a kind: the first node it
/// is true of, and how many more there are.
[[nodiscard]] std::vector<Finding> find_problems(const Topology& topology);

/// Throws ConfigError when a device would be used by two ranks, or a rank has none. For runs on
/// GPUs. The same on every rank.
void refuse_shared_gpus(const Topology& topology);

/// Throws ConfigError for the first finding that is an error; those about GPUs count only where
/// they are used. The same on every rank.
void refuse_errors(const Topology& topology, bool uses_gpus);

}  // namespace sherd::runtime
