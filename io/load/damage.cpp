#include "io/load/damage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "io/disk/crc32c.hpp"
#include "io/disk/damaged.hpp"
#include "io/disk/positioned_reader.hpp"
#include "io/format/checkpoint_files.hpp"
#include "io/format/digests.hpp"
#include "io/format/manifest.hpp"
#include "sherd/base/host_name.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

constexpr std::size_t kReadAtOnce = std::size_t{8} << 20;

/// Text of `rank` on all ranks.
std::string text_of(const comm::Ranks& ranks, int rank, std::string text) {
  comm::broadcast_text(*ranks.world, text, ranks.mesh->piece(rank));
  return text;
}

std::string host_of(const comm::Ranks& ranks, int rank) {
  return text_of(ranks, rank, host_name());
}

/// What this rank finds wrong with names and sizes; nullopt when it sees every file.
std::optional<std::string> absence(const fs_std::path& folder) {
  try {
    const Manifest manifest = read_manifest(folder / "COMMITTED.json");
    const CheckpointFiles files(folder, manifest);
  } catch (const IoError& error) {
    return error.what();
  }
  return std::nullopt;
}

/// Collective. Whether all ranks miss something; throws when just some do.
bool all_miss_something(const comm::Ranks& ranks, const fs_std::path& folder) {
  const std::optional<std::string> mine = absence(folder);
  const auto missing = comm::first_text(ranks, mine);
  if (!missing) {
    return false;
  }
  const auto seeing = comm::first_text(ranks, mine ? std::nullopt : std::optional(host_name()));
  if (!seeing) {
    return true;
  }
  throw IoError(fmt::format(
      "rank {} on {}: {} (rank {} on {} sees all of '{}': a mount, a cache or a disk of that host; "
      "nothing was changed). Try: mending it, or a job without that host",
      missing->rank, host_of(ranks, missing->rank), missing->text, seeing->rank, seeing->text,
      folder.string()));
}

/// Collective. Of those who saw no damage one of another node than the one who did; else the next.
int choose_reader(const comm::Ranks& ranks, const Damage& damage) {
  std::vector<std::int64_t> saw(static_cast<std::size_t>(ranks.size()), 0);
  saw[static_cast<std::size_t>(ranks.rank())] = damage.mine ? 1 : 0;
  comm::max_over_ranks(ranks, saw);
  int chosen = (damage.rank + 1) % ranks.size();
  const int node = ranks.mesh->coord(damage.rank).node;
  bool elsewhere = false;
  for (int rank = ranks.size() - 1; rank >= 0; --rank) {
    const bool other = ranks.mesh->coord(rank).node != node;
    if (saw[static_cast<std::size_t>(rank)] == 0 && (other || !elsewhere)) {
      chosen = rank;
      elsewhere = other;
    }
  }
  return chosen;
}

std::uint32_t crc_of(const PositionedReader& reader, const DigestItem& item, PageBuffer& buffer) {
  std::uint32_t crc = 0;
  for (const Extent& extent : item.extents) {
    for (std::uint64_t at = extent.offset; at < extent.end(); at += kReadAtOnce) {
      const auto bytes = std::min<std::uint64_t>(kReadAtOnce, extent.end() - at);
      crc = crc32c(reader.read_direct(at, bytes, buffer), crc);
    }
  }
  return crc;
}

/// Local. What is wrong with the file, or with any where `file` names none.
std::optional<std::string> recheck(const fs_std::path& folder, const std::string& file) {
  try {
    const Manifest manifest = read_manifest(folder / "COMMITTED.json");
    const CheckpointFiles files(folder, manifest);
    PageBuffer buffer(kReadAtOnce);
    for (const DigestItem& item : list_digests(manifest)) {
      const std::string& name = manifest.files[item.file].name;
      if (!file.empty() && file != name) {
        continue;
      }
      files[item.file].forget_cached();
      if (crc_of(files[item.file], item, buffer) != item.expected) {
        return item.what + " does not match its crc32c";
      }
    }
  } catch (const DamagedError& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Damage> find_damage(const comm::Ranks& ranks, const std::function<void()>& body) {
  std::optional<std::string> damage;
  comm::all_or_none(ranks, [&] {
    try {
      body();
    } catch (const DamagedError& error) {
      damage = error.file() + "\n" + error.what();
    } catch (const IoError& error) {
      throw IoError(fmt::format("on {}: {}", host_name(), error.what()));
    }
  });
  const auto first = comm::first_text(ranks, damage);
  if (!first) {
    return std::nullopt;
  }
  const std::size_t cut = first->text.find('\n');
  return Damage{first->text.substr(cut + 1), first->text.substr(0, cut), first->rank,
                damage.has_value()};
}

std::optional<std::string> read_again(const comm::Ranks& ranks, const fs_std::path& folder,
                                      const Damage& damage) {
  if (all_miss_something(ranks, folder)) {
    return std::nullopt;
  }
  const int reader = choose_reader(ranks, damage);
  const int second = (reader + 1) % ranks.size();
  std::optional<std::string> sound;
  comm::all_or_none(ranks, [&] {
    if ((ranks.rank() == reader || ranks.rank() == second) && !recheck(folder, damage.file)) {
      sound = host_name();
    }
  });
  const auto who = comm::first_text(ranks, sound);
  if (!who) {
    return std::nullopt;
  }
  return fmt::format(
      "'{}': rank {} on {} read damage ({}) that rank {} on {} did not find when it read the place "
      "again",
      folder.filename().string(), damage.rank, host_of(ranks, damage.rank), damage.text, who->rank,
      who->text);
}

}  // namespace sherd::io
