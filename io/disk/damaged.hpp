#pragma once

#include "sherd/base/error.hpp"

namespace sherd::io {

/// What lies on the disk is not what was written: a file is not there, is shorter than it should
/// be, or does not match its digest. Loading falls back to an older checkpoint on this exception
/// alone; a system that cannot read at the moment is a plain IoError, and ends the load.
class DamagedError : public IoError {
  using IoError::IoError;
};

}  // namespace sherd::io
