#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sherd/comm/agree.hpp"

/// What one rank says of a checkpoint is not yet so: a node may have lost its mount, a cache or a
/// bus may have flipped a bit. Before anything is renamed another rank reads the place again.
namespace sherd::io {

/// Damage as the lowest rank that saw some describes it; the same on all ranks.
struct Damage {
  std::string text;
  std::string file;  ///< as the manifest calls it; empty: not one file
  int rank = 0;
  bool mine = false;  ///< whether this rank saw some, too; the one member that differs
};

/// Collective. Runs `body`, which must not call collectives, on all ranks. Returns the damage that
/// it reported by DamagedError; throws what else it threw on all ranks, naming rank and host.
[[nodiscard]] std::optional<Damage> find_damage(const comm::Ranks& ranks,
                                                const std::function<void()>& body);

/// Collective. Looks at the damage a second time: all ranks whether the files are there, and two
/// (one that saw no damage and is of another node, if there is one) at every byte of the file, past
/// their page caches. Returns nullopt when both find it, else one line that says who saw what.
/// Throws IoError when one rank misses what another sees: that is its node's trouble, not the
/// checkpoint's.
[[nodiscard]] std::optional<std::string> read_again(const comm::Ranks& ranks,
                                                    const std::filesystem::path& folder,
                                                    const Damage& damage);

}  // namespace sherd::io
