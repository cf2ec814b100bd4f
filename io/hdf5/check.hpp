#pragma once

#include <hdf5.h>

#include <string_view>

namespace sherd::io::hdf5 {

/// Throws IoError "<call> failed for '<object>': <HDF5's own reason>".
[[noreturn]] void fail(const char* call, std::string_view object);

/// Returns an identifier or throws.
[[nodiscard]] hid_t id(hid_t result, const char* call, std::string_view object);

void ok(herr_t result, const char* call, std::string_view object);

}  // namespace sherd::io::hdf5
