#include "sherd/base/error.hpp"

namespace sherd {

Error::Error(const std::string& message, SourceLocation at)
    : std::runtime_error(message), at_(at) {}

}  // namespace sherd
