#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sherd/comm/communicator.hpp"
#include "sherd/mesh/device_mesh.hpp"

/// How ranks come to the same conclusion. All calls but text_hash() are collective and blocking,
/// work on host memory, and throw CommError when a rank has failed.
namespace sherd::comm {

/// A communicator and the mesh its ranks are pieces of.
struct Ranks {
  Communicator* world = nullptr;
  const mesh::DeviceMesh* mesh = nullptr;

  [[nodiscard]] int size() const { return world->size(); }
  /// As the launch numbers ranks; files and messages name ranks by it.
  [[nodiscard]] int rank() const { return mesh->owner(world->rank()); }
  [[nodiscard]] int node() const { return mesh->coord(rank()).node; }
};

/// `text` of the communicator's rank `root` on all ranks.
void broadcast_text(Communicator& comm, std::string& text, int root);
/// `text` of rank 0 of the launch on all ranks.
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

/// Runs `body` on every rank of `comm` and waits until all have. When any rank's threw ConfigError
/// or IoError, every rank throws ConfigError with the message of the lowest such rank (its number
/// and host in front, unless all ranks failed alike). Other exceptions pass through.
void all_or_config_error(Communicator& comm, const std::function<void()>& body);
/// The same, naming ranks as the launch does.
void all_or_config_error(const Ranks& ranks, const std::function<void()>& body);

/// Element-wise maximum over ranks, in place.
void max_over_ranks(const Ranks& ranks, std::span<std::int64_t> values);

/// Whether all ranks pass the same text.
[[nodiscard]] bool same_on_all(const Ranks& ranks, std::string_view text);

/// 62-bit hash for such comparisons: its negative is a number, too.
[[nodiscard]] std::int64_t text_hash(std::string_view text) noexcept;

}  // namespace sherd::comm
