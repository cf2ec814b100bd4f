#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/issue/issue_record.hpp"

namespace sherd::comm {

/// What is known of every rank, by rank; nothing of those that did not answer.
using IssueHistories = std::vector<std::optional<IssueHistory>>;

/// Says who issued what where the ranks first differ, when two of them are proven to; nothing while
/// all that is known agrees, however far some are behind. Looks at histories of `era` alone.
[[nodiscard]] std::optional<std::string> find_divergence(const IssueHistories& histories,
                                                         std::uint64_t era,
                                                         std::span<const std::string> labels);

/// What every rank issued last, as a sentence.
[[nodiscard]] std::string describe_last(const IssueHistories& histories,
                                        std::span<const std::string> labels);

}  // namespace sherd::comm
