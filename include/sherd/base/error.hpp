#pragma once

#include <stdexcept>
#include <string>

#include "sherd/base/source_location.hpp"

namespace sherd {

/// Base of everything sherd throws. what() is the message alone: *problem (why it matters). Try:
/// suggestion.* The place it was thrown from is kept beside it.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, SourceLocation at = SourceLocation::current());

  [[nodiscard]] SourceLocation where() const noexcept { return at_; }

 private:
  SourceLocation at_;
};

/// The calling program broke a contract (wrong shape, wrong order of calls).
class ArgumentError : public Error {
  using Error::Error;
};

/// The user's input (configuration, data, model files) or this build cannot do what was asked.
/// The program ends with exit code 2.
class ConfigError : public Error {
  using Error::Error;
};

/// MPI, NCCL or a shared-memory collective failed, or another rank did.
class CommError : public Error {
  using Error::Error;
};

/// A GPU or its driver failed.
class DeviceError : public Error {
  using Error::Error;
};

/// A file could not be read or written, or does not hold what it should.
class IoError : public Error {
  using Error::Error;
};

}  // namespace sherd
