#pragma once

#include <string>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd::io {

/// What lies on the disk is not what was written: a file is not there, is shorter than it should
/// be, or does not match its digest. Loading falls back to an older checkpoint on this exception
/// alone; a system that cannot read at the moment is a plain IoError, and ends the load.
class DamagedError : public IoError {
 public:
  explicit DamagedError(const std::string& what, std::string file = {})
      : IoError(what), file_(std::move(file)) {}

  /// The file that the damage is in, as the manifest calls it; empty: more than one may be.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

 private:
  std::string file_;
};

}  // namespace sherd::io
