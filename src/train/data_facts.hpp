#pragma once

#include <string>
#include <vector>

#include "sherd/comm/facts.hpp"

namespace sherd::train {

/// A data manifest (DataSource::manifest()) as facts that all ranks must share, one a file. Local.
[[nodiscard]] std::vector<comm::Fact> data_facts(const std::string& manifest);

}  // namespace sherd::train
