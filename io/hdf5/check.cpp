// HDF5's error stack as one line of an IoError.
#include "io/hdf5/check.hpp"

#include <fmt/format.h>

#include <string>

#include "sherd/base/error.hpp"

namespace sherd::io::hdf5 {
namespace {

herr_t first_reason(unsigned depth, const H5E_error2_t* error, void* out) {
  if (depth == 0 && error->desc != nullptr) {
    *static_cast<std::string*>(out) = error->desc;
  }
  return 0;
}

}  // namespace

void fail(const char* call, std::string_view object) {
  std::string reason = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, &reason);
  throw IoError(fmt::format("{} failed for '{}': {}", call, object, reason));
}

hid_t id(hid_t result, const char* call, std::string_view object) {
  if (result < 0) {
    fail(call, object);
  }
  return result;
}

void ok(herr_t result, const char* call, std::string_view object) {
  if (result < 0) {
    fail(call, object);
  }
}

}  // namespace sherd::io::hdf5
