// Element types in HDF5: bf16 and f16 are floats of their own, other types are standard ones.
#include "io/hdf5/types.hpp"

#include <cstdint>
#include <cstring>
#include <limits>

#include "sherd/base/error.hpp"

namespace sherd::io::hdf5 {
namespace {

hid_t standard_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return H5T_IEEE_F64LE;
    case DType::i64:
      return H5T_STD_I64LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::u16:
      return H5T_STD_U16LE;
    case DType::u8:
      return H5T_STD_U8LE;
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      break;
  }
  return H5T_IEEE_F32LE;
}

/// A 16-bit IEEE-like float: sign, then `exponent_bits`, then the rest as mantissa.
Hdf5Type small_float(std::size_t exponent_bits) {
  const std::size_t mantissa_bits = 15 - exponent_bits;
  const std::size_t bias = (std::size_t{1} << (exponent_bits - 1)) - 1;
  Hdf5Type type(H5Tcopy(H5T_IEEE_F32LE));
  const bool made =
      H5Tset_fields(type.get(), 15, mantissa_bits, exponent_bits, 0, mantissa_bits) >= 0 &&
      H5Tset_size(type.get(), 2) >= 0 && H5Tset_ebias(type.get(), bias) >= 0;
  if (!made) {
    throw IoError("HDF5 refuses a 16-bit floating-point type");
  }
  return type;
}

template <class T>
std::array<std::byte, 8> bytes_of(T value) noexcept {
  std::array<std::byte, 8> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

}  // namespace

Hdf5Type file_type(DType dtype) {
  if (dtype == DType::bf16) {
    return small_float(8);
  }
  if (dtype == DType::f16) {
    return small_float(5);
  }
  return Hdf5Type(H5Tcopy(standard_type(dtype)));
}

std::array<std::byte, 8> missing_value(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
      return bytes_of(std::numeric_limits<double>::quiet_NaN());
    case DType::f32:
      return bytes_of(std::numeric_limits<float>::quiet_NaN());
    case DType::f16:
      return bytes_of(std::uint16_t{0x7E00});
    case DType::bf16:
      return bytes_of(std::uint16_t{0x7FC0});
    case DType::i64:
      return bytes_of(std::numeric_limits<std::int64_t>::min());
    case DType::i32:
      return bytes_of(std::numeric_limits<std::int32_t>::min());
    case DType::u16:
    case DType::u8:
      break;
  }
  return bytes_of(std::numeric_limits<std::uint16_t>::max());
}

hid_t ElementTypes::get(DType dtype) {
  const auto found = types_.find(dtype);
  if (found != types_.end()) {
    return found->second.get();
  }
  return types_.emplace(dtype, file_type(dtype)).first->second.get();
}

}  // namespace sherd::io::hdf5
