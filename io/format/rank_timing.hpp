#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace sherd::io {

/// When a rank's part of the save had come how far, in microseconds after save_async() began, and
/// what it cost.
struct RankTiming {
  int rank = 0;
  std::int64_t stall_us = 0;    ///< how long save_async() held the caller
  std::int64_t staged_us = 0;   ///< all bytes copied
  std::int64_t written_us = 0;  ///< all bytes handed to the file
  std::int64_t durable_us = 0;  ///< synced; the vote follows
  std::int64_t copy_us = 0;     ///< spent copying and taking digests
  std::int64_t bytes = 0;
};

/// As an array of objects with the members' names: in COMMITTED.json and in /meta/timing.
[[nodiscard]] nlohmann::json json_of(const std::vector<RankTiming>& timings);
/// The inverse; throws what nlohmann::json does.
[[nodiscard]] std::vector<RankTiming> timings_of(const nlohmann::json& list);

}  // namespace sherd::io
