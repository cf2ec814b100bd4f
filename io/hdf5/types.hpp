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

/// One element that says "missing": NaN, or the largest unsigned or smallest signed number.
[[nodiscard]] std::array<std::byte, 8> missing_value(DType dtype) noexcept;

/// One HDF5 type a dtype, made when first asked for. None is committed to a file: h5repack and
/// netCDF fail on named types, and a name would add nothing to what the type says.
class ElementTypes {
 public:
  [[nodiscard]] hid_t get(DType dtype);

 private:
  std::map<DType, Hdf5Type> types_;
};

}  // namespace sherd::io::hdf5
