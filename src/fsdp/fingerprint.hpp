#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sherd::fsdp {

/// A rolling hash of the collectives a rank has issued, so that ranks that went different ways are
/// found out at the next exchange of global values.
class Fingerprint {
 public:
  enum class Operation : std::uint32_t { none, unshard, reduce };

  void add(Operation operation, std::size_t group) {
    operation_ = operation;
    group_ = static_cast<std::uint32_t>(group);
    ++count_;
    hash_ = (hash_ ^ (static_cast<std::uint64_t>(operation) << 32 ^ group)) * 0x100000001B3ULL;
  }

  /// What travels: hash, count, last operation and group.
  struct Record {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    std::uint32_t operation = 0;
    std::uint32_t group = 0;
  };
  [[nodiscard]] Record record() const {
    return {hash_, count_, static_cast<std::uint32_t>(operation_), group_};
  }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
  std::uint64_t count_ = 0;
  Operation operation_ = Operation::none;
  std::uint32_t group_ = 0;
};

/// Throws CommError naming the rank that differs from the majority, if any.
void require_equal(const std::vector<Fingerprint::Record>& by_rank,
                   const std::vector<std::string>& group_names);

}  // namespace sherd::fsdp
