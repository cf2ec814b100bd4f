#pragma once

#include <cstdlib>

namespace sherd::testing {

/// Whether tests that walk through combinations take all of them (`jobs/test.sh --full`) instead of
/// a choice in which each value meets every kind of the others.
inline bool full_product() { return std::getenv("SHERD_FULL_PRODUCT") != nullptr; }

}  // namespace sherd::testing
