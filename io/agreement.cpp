#include "io/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

void broadcast_text_from(const Ranks& ranks, std::string& text, int rank) {
  const int root = ranks.mesh->piece(rank);
  auto bytes = static_cast<std::int64_t>(text.size());
  ranks.world->broadcast(&bytes, 1, DType::i64, root).wait();
  text.resize(static_cast<std::size_t>(bytes));
  ranks.world->broadcast(text.data(), text.size(), DType::u8, root).wait();
}

enum class Kind : char { argument = 'a', config = 'c', io = 'i' };

std::optional<std::string> failure_of(const std::function<void()>& body) {
  const auto tagged = [](Kind kind, const char* what) {
    return std::string(1, static_cast<char>(kind)) + what;
  };
  try {
    body();
    return std::nullopt;
  } catch (const ArgumentError& error) {
    return tagged(Kind::argument, error.what());
  } catch (const ConfigError& error) {
    return tagged(Kind::config, error.what());
  } catch (const std::exception& error) {
    return tagged(Kind::io, error.what());
  }
}

}  // namespace

void broadcast_text(const Ranks& ranks, std::string& text) { broadcast_text_from(ranks, text, 0); }

std::optional<RankText> first_text(const Ranks& ranks, const std::optional<std::string>& text) {
  std::int64_t candidate = text ? ranks.size() - ranks.rank() : 0;
  max_over_ranks(ranks, std::span(&candidate, 1));
  if (candidate == 0) {
    return std::nullopt;
  }
  RankText result{static_cast<int>(ranks.size() - candidate), text.value_or("")};
  broadcast_text_from(ranks, result.text, result.rank);
  return result;
}

void all_or_none(const Ranks& ranks, const std::function<void()>& body) {
  const auto failure = first_text(ranks, failure_of(body));
  if (!failure) {
    return;
  }
  const std::string message =
      ranks.size() == 1 ? failure->text.substr(1)
                        : fmt::format("rank {}: {}", failure->rank, failure->text.substr(1));
  switch (static_cast<Kind>(failure->text.front())) {
    case Kind::argument:
      throw ArgumentError(message);
    case Kind::config:
      throw ConfigError(message);
    case Kind::io:
      break;
  }
  throw IoError(message);
}

void max_over_ranks(const Ranks& ranks, std::span<std::int64_t> values) {
  ranks.world
      ->all_reduce(values.data(), values.data(), values.size(), DType::i64, comm::ReduceOp::max)
      .wait();
}

bool same_on_all(const Ranks& ranks, std::string_view text) {
  const std::int64_t hash = text_hash(text);
  std::array<std::int64_t, 2> bounds{hash, -hash};
  max_over_ranks(ranks, bounds);
  return bounds[0] == -bounds[1];
}

std::int64_t text_hash(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return static_cast<std::int64_t>(hash >> 2);
}

}  // namespace sherd::io
