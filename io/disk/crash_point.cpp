#include "io/disk/crash_point.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include "sherd/base/check.hpp"

namespace sherd::io {
namespace {

struct Wanted {
  std::string_view place;
  std::optional<int> rank;  ///< nullopt: any
  bool well_formed = true;
};

std::optional<Wanted> wanted() noexcept {
  const char* text = std::getenv("SHERD_CRASH_POINT");
  if (text == nullptr) {
    return std::nullopt;
  }
  Wanted result{text, std::nullopt, true};
  if (const auto colon = result.place.find(':'); colon != std::string_view::npos) {
    const std::string_view number = result.place.substr(colon + 1);
    int rank = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
    result.well_formed = error == std::errc{} && end == number.data() + number.size() && rank >= 0;
    result.rank = rank;
    result.place = result.place.substr(0, colon);
  }
  return result;
}

bool is_place(std::string_view name) noexcept {
  return std::any_of(kCrashPlaces.begin(), kCrashPlaces.end(),
                     [&](const CrashPlace& place) { return place.name == name; });
}

}  // namespace

void crash_point(std::string_view place, int rank) noexcept {
  const std::optional<Wanted> told = wanted();
  if (told && told->well_formed && told->place == place && told->rank.value_or(rank) == rank) {
    ::_exit(137);
  }
}

void check_crash_point() {
  const std::optional<Wanted> told = wanted();
  if (!told || (told->well_formed && is_place(told->place))) {
    return;
  }
  std::vector<std::string_view> names;
  for (const CrashPlace& place : kCrashPlaces) {
    names.push_back(place.name);
  }
  throw ConfigError(
      fmt::format("SHERD_CRASH_POINT is '{}', which is no place or place:rank. Try: "
                  "one of {}",
                  std::getenv("SHERD_CRASH_POINT"), fmt::join(names, ", ")));
}

}  // namespace sherd::io
