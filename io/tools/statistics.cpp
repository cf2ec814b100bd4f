#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/tools/to_doubles.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/compare.hpp"

namespace sherd::io {

TensorStatistics tensor_statistics(const CheckpointReader& checkpoint, const std::string& key) {
  const TensorInfo* info = checkpoint.find(key);
  if (info == nullptr) {
    throw IoError(fmt::format("the checkpoint has no tensor '{}'", key));
  }
  constexpr std::int64_t kChunk = std::int64_t{1} << 20;
  TensorStatistics result;
  result.numel = info->shape.numel();
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  const Tensor chunk = Tensor::empty({std::min(result.numel, kChunk)}, info->dtype);
  std::vector<double> values;
  for (std::int64_t first = 0; first < result.numel; first += chunk.numel()) {
    const Tensor part = chunk.slice(0, std::min(chunk.numel(), result.numel - first));
    checkpoint.read(key, first, part);
    to_doubles(part, values);
    for (const double value : values) {
      if (std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
        sum += value;
      } else {
        (std::isnan(value) ? result.nan : result.infinite) += 1;
      }
    }
  }
  const std::int64_t finite = result.numel - result.nan - result.infinite;
  if (finite > 0) {
    result.min = low;
    result.max = high;
    result.mean = sum / static_cast<double>(finite);
  }
  return result;
}

}  // namespace sherd::io
