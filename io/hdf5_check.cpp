#include "io/hdf5_check.hpp"

#include <fmt/format.h>

#include <string>

#include "sherd/base/error.hpp"

namespace sherd::io::hdf5 {
namespace {

herr_t first_reason(unsigned, const H5E_error2_t* error, void* text) {
  auto& reason = *static_cast<std::string*>(text);
  if (error->desc != nullptr && reason.empty()) {
    reason = error->desc;
  }
  return 0;
}

}  // namespace

void fail(const char* call, std::string_view object) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, &reason);
  throw IoError(fmt::format("{} failed for '{}': {}", call, object,
                            reason.empty() ? "no reason given" : reason));
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
