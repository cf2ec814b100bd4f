#include "sherd/comm/agree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sherd/base/error.hpp"
#include "sherd/base/fnv1a.hpp"
#include "sherd/base/host_name.hpp"

namespace sherd::comm {
namespace {

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

std::int64_t reduce(Communicator& comm, std::int64_t value, ReduceOp op) {
  std::int64_t result = 0;
  comm.all_reduce(&value, &result, 1, DType::i64, op).wait();
  return result;
}

void all_or_config_error(Communicator& comm, int rank, const std::function<void()>& body) {
  std::string problem;
  bool failed = true;
  try {
    body();
    failed = false;
  } catch (const ConfigError& error) {
    problem = error.what();
  } catch (const IoError& error) {
    problem = error.what();
  }
  const std::int64_t failures = reduce(comm, failed ? 1 : 0, ReduceOp::sum);
  if (failures == 0) {
    return;
  }
  const std::int64_t mine = failed ? comm.rank() : comm.size();
  const auto lowest = static_cast<int>(reduce(comm, mine, ReduceOp::min));
  if (failures < comm.size()) {
    problem = fmt::format("rank {} on {}: {}", rank, host_name(), problem);
  }
  broadcast_text(comm, problem, lowest);
  throw ConfigError(problem);
}

}  // namespace

void broadcast_text(Communicator& comm, std::string& text, int root) {
  auto bytes = static_cast<std::int64_t>(text.size());
  comm.broadcast(&bytes, 1, DType::i64, root).wait();
  text.resize(static_cast<std::size_t>(bytes));
  comm.broadcast(text.data(), text.size(), DType::u8, root).wait();
}

void broadcast_text(const Ranks& ranks, std::string& text) {
  broadcast_text(*ranks.world, text, ranks.mesh->piece(0));
}

std::optional<RankText> first_text(const Ranks& ranks, const std::optional<std::string>& text) {
  std::int64_t candidate = text ? ranks.size() - ranks.rank() : 0;
  max_over_ranks(ranks, std::span(&candidate, 1));
  if (candidate == 0) {
    return std::nullopt;
  }
  RankText result{static_cast<int>(ranks.size() - candidate), text.value_or("")};
  broadcast_text(*ranks.world, result.text, ranks.mesh->piece(result.rank));
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

void all_or_config_error(Communicator& comm, const std::function<void()>& body) {
  all_or_config_error(comm, comm.rank(), body);
}

void all_or_config_error(const Ranks& ranks, const std::function<void()>& body) {
  all_or_config_error(*ranks.world, ranks.rank(), body);
}

void max_over_ranks(const Ranks& ranks, std::span<std::int64_t> values) {
  ranks.world->all_reduce(values.data(), values.data(), values.size(), DType::i64, ReduceOp::max)
      .wait();
}

bool same_on_all(const Ranks& ranks, std::string_view text) {
  const std::int64_t hash = text_hash(text);
  std::array<std::int64_t, 2> bounds{hash, -hash};
  max_over_ranks(ranks, bounds);
  return bounds[0] == -bounds[1];
}

std::int64_t text_hash(std::string_view text) noexcept {
  return static_cast<std::int64_t>(fnv1a(text) >> 2);
}

}  // namespace sherd::comm
