#pragma once

#include "sherd/dtensor/state_dict.hpp"

namespace sherd::io {

/// Whether a checkpoint can hold what the state names. Local. Throws ArgumentError, which names the
/// tensor or entry, for names and texts that are not UTF-8 or hold a NUL, names of the format's own
/// groups, names of which one would be a dataset and a group at once, and more than 32 dimensions.
void check_storable(const dtensor::StateDict& state);

/// Whether there is anything to save. Local. Throws ArgumentError.
void check_not_empty(const dtensor::StateDict& state);

}  // namespace sherd::io
