#include "sherd/train/agreement.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include "sherd/base/error.hpp"

namespace sherd::train {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

/// `text` of rank `root`, on every rank.
std::string broadcast_text(comm::Communicator& comm, std::string text, int root) {
  auto length = static_cast<std::int64_t>(text.size());
  comm.broadcast(&length, 1, DType::i64, root).wait();
  text.resize(static_cast<std::size_t>(length));
  comm.broadcast(text.data(), text.size(), DType::u8, root).wait();
  return text;
}

std::int64_t reduce(comm::Communicator& comm, std::int64_t value, comm::ReduceOp op) {
  std::int64_t result = 0;
  comm.all_reduce(&value, &result, 1, DType::i64, op).wait();
  return result;
}

}  // namespace

void agree(comm::Communicator& comm, const std::function<void()>& body) {
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
  const std::int64_t failures = reduce(comm, failed ? 1 : 0, comm::ReduceOp::sum);
  if (failures == 0) {
    return;
  }
  const std::int64_t mine = failed ? comm.rank() : comm.size();
  const auto lowest = static_cast<int>(reduce(comm, mine, comm::ReduceOp::min));
  if (failures < comm.size()) {
    problem = std::string("on ").append(host_name()).append(": ").append(problem);
  }
  throw ConfigError(broadcast_text(comm, problem, lowest));
}

}  // namespace sherd::train
