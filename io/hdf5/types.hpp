#pragma once

#include <array>
#include <cstddef>
#include <map>

#include "io/hdf5/handles.hpp"
#include "sherd/base/dtype.hpp"

namespace sherd::io::hdf5 {

/// The on-disk type of a dtype: little-endian; bf16 and f16 as floats HDF5 converts by their
/// fields, so that its tools print numbers.
[[nodiscard]] Hdf5Type file_type(DType dtype);

/// "bfloat16", "float32", "int64" ...: the name under /dtypes.
[[nodiscard]] const char* type_name(DType dtype) noexcept;

/// One element that says "missing": NaN, or the largest unsigned or smallest signed number.
[[nodiscard]] std::array<std::byte, 8> missing_value(DType dtype) noexcept;

/// The types of one file, committed under /dtypes as they are first asked for.
class CommittedTypes {
 public:
  explicit CommittedTypes(hid_t file) : file_(file) {}
  [[nodiscard]] hid_t get(DType dtype);

 private:
  hid_t file_;
  std::map<DType, Hdf5Type> types_;
};

}  // namespace sherd::io::hdf5
