#include "contract/elements.hpp"

#include <algorithm>
#include <cstring>

#include "sherd/base/half.hpp"

namespace sherd::contract {
namespace {

constexpr std::byte kGuardByte{0xA5};

template <class T>
double load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
void store_as(std::byte* at, double value) {
  T typed;
  if constexpr (sizeof(T) == 2) {
    typed = T(static_cast<float>(value));
  } else {
    typed = static_cast<T>(value);
  }
  std::memcpy(at, &typed, sizeof typed);
}

}  // namespace

double load(const std::byte* data, std::size_t index, DType dtype) {
  const std::byte* at = data + index * size_of(dtype);
  switch (dtype) {
    case DType::f64:
      return load_as<double>(at);
    case DType::f32:
      return load_as<float>(at);
    case DType::f16:
      return load_as<Float16>(at);
    case DType::bf16:
      return load_as<BFloat16>(at);
    case DType::i64:
      return load_as<std::int64_t>(at);
    case DType::i32:
      return load_as<std::int32_t>(at);
    case DType::u16:
      return load_as<std::uint16_t>(at);
    case DType::u8:
      return load_as<std::uint8_t>(at);
  }
  return 0;
}

void store(std::byte* data, std::size_t index, DType dtype, double value) {
  std::byte* at = data + index * size_of(dtype);
  switch (dtype) {
    case DType::f64:
      return store_as<double>(at, value);
    case DType::f32:
      return store_as<float>(at, value);
    case DType::f16:
      return store_as<Float16>(at, value);
    case DType::bf16:
      return store_as<BFloat16>(at, value);
    case DType::i64:
      return store_as<std::int64_t>(at, value);
    case DType::i32:
      return store_as<std::int32_t>(at, value);
    case DType::u16:
      return store_as<std::uint16_t>(at, value);
    case DType::u8:
      return store_as<std::uint8_t>(at, value);
  }
}

double reduced(int ranks, std::size_t index, comm::ReduceOp op) {
  double result = value_of(0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = value_of(rank, index);
    result = op == comm::ReduceOp::sum
                 ? result + next
                 : (op == comm::ReduceOp::max ? std::max(result, next) : std::min(result, next));
  }
  return result;
}

Elements::Elements(std::size_t count, DType dtype)
    : dtype_(dtype), bytes_(count * size_of(dtype) + 2 * kGuard, kGuardByte) {}

Elements::Elements(std::size_t count, DType dtype, int rank, std::size_t first)
    : Elements(count, dtype) {
  for (std::size_t i = 0; i < std::min(count, kPeriod); ++i) {
    store(data(), i, dtype, value_of(rank, first + i));
  }
  for (std::size_t filled = kPeriod; filled < count; filled *= 2) {
    std::memcpy(at(filled), data(), std::min(filled, count - filled) * size_of(dtype));
  }
}

bool Elements::repeats(std::size_t begin, std::size_t count) const {
  const std::size_t width = size_of(dtype_);
  const std::byte* first = bytes_.data() + kGuard + begin * width;
  return count <= kPeriod ||
         std::memcmp(first, first + kPeriod * width, (count - kPeriod) * width) == 0;
}

double Elements::get(std::size_t index) const {
  return load(bytes_.data() + kGuard, index, dtype_);
}

bool Elements::guards_untouched() const {
  const auto clean = [](std::byte byte) { return byte == kGuardByte; };
  return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, clean) &&
         std::all_of(bytes_.end() - kGuard, bytes_.end(), clean);
}

std::vector<std::size_t> counts_for(int ranks, DType dtype) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> counts{0, 1, n - 1, n, n + 1, 1000, 10007};
  if (dtype == DType::f32 || dtype == DType::bf16) {
    counts.push_back((std::size_t{4} << 20) / size_of(dtype));
  }
  return counts;
}

const std::vector<DType>& reducible_dtypes() {
  static const std::vector<DType> dtypes{DType::f32, DType::f64, DType::f16, DType::bf16,
                                         DType::i32, DType::i64, DType::u8};
  return dtypes;
}

}  // namespace sherd::contract
