#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sherd/comm/communicator.hpp"
#include "sherd/mesh/device_mesh.hpp"

/// How ranks come to the same conclusion. All calls are collective and blocking.
namespace sherd::io {

/// A communicator and the mesh its ranks are pieces of.
struct Ranks {
  comm::Communicator* world = nullptr;
  const mesh::DeviceMesh* mesh = nullptr;

  [[nodiscard]] int size() const { return world->size(); }
  /// As the launch numbers ranks; files are named by it.
  [[nodiscard]] int rank() const { return mesh->owner(world->rank()); }
  [[nodiscard]] int node() const { return mesh->coord(rank()).node; }
};

/// `text` of rank 0 on all ranks.
void broadcast_text(const Ranks& ranks, std::string& text);

struct RankText {
  int rank = 0;
  std::string text;
};
/// The text of the lowest rank that has one.
[[nodiscard]] std::optional<RankText> first_text(const Ranks& ranks,
                                                 const std::optional<std::string>& text);

/// Runs `body`, which must not call collectives. When it threw on any rank, all ranks throw the
/// lowest such rank's error (ArgumentError, ConfigError or IoError), with its rank in front.
void all_or_none(const Ranks& ranks, const std::function<void()>& body);

/// Element-wise maximum over ranks, in place.
void max_over_ranks(const Ranks& ranks, std::span<std::int64_t> values);

/// Whether all ranks pass the same text.
[[nodiscard]] bool same_on_all(const Ranks& ranks, std::string_view text);

/// 62-bit hash for such comparisons.
[[nodiscard]] std::int64_t text_hash(std::string_view text) noexcept;

}  // namespace sherd::io
