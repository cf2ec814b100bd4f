#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sherd::cli {

/// A name and what is to be said of it.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The versions of the libraries whose headers this build used.
[[nodiscard]] Facts build_versions();

}  // namespace sherd::cli
