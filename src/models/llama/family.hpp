#pragma once

#include "sherd/models/family.hpp"

namespace sherd::models {

[[nodiscard]] ModelFamily llama_family();

}  // namespace sherd::models
