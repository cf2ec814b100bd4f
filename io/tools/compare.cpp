// sherd ckpt diff: two checkpoints, tensor by tensor.
#include "sherd/io/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "io/tools/to_doubles.hpp"

namespace sherd::io {
namespace {

constexpr std::int64_t kChunkElements = std::int64_t{1} << 20;

std::string kind(const TensorInfo& info) {
  return fmt::format("{} {}", to_string(info.dtype), info.shape.to_string());
}

/// One tensor of both checkpoints, read piece by piece.
class TensorCompare {
 public:
  TensorCompare(const CompareOptions& options, TensorDifference& result)
      : options_(options), result_(result) {}

  void run(const CheckpointReader& a, const CheckpointReader& b, const TensorInfo& info_a,
           const TensorInfo& info_b) {
    const std::int64_t total = info_a.shape.numel();
    const Tensor in_a = Tensor::empty({std::min(total, kChunkElements)}, info_a.dtype);
    const Tensor in_b = Tensor::empty({std::min(total, kChunkElements)}, info_a.dtype);
    for (std::int64_t first = 0; first < total; first += in_a.numel()) {
      const std::int64_t count = std::min(in_a.numel(), total - first);
      const Tensor part_a = in_a.slice(0, count);
      const Tensor part_b = in_b.slice(0, count);
      a.read(info_a.key, first, part_a);
      b.read(info_b.key, first, part_b);
      if (std::memcmp(part_a.raw(), part_b.raw(), part_a.nbytes()) != 0) {
        add(part_a, part_b);
      }
    }
  }

 private:
  void add(const Tensor& a, const Tensor& b) {
    const std::size_t width = size_of(a.dtype());
    to_doubles(a, values_a_);
    to_doubles(b, values_b_);
    for (std::size_t i = 0; i < values_a_.size(); ++i) {
      if (std::memcmp(a.raw() + i * width, b.raw() + i * width, width) != 0) {
        add(values_a_[i], values_b_[i]);
      }
    }
  }

  void add(double a, double b) {
    const bool both_nan = std::isnan(a) && std::isnan(b);
    const double finite = std::isfinite(a) && std::isfinite(b)
                              ? std::abs(a - b)
                              : (a == b ? 0.0 : std::numeric_limits<double>::infinity());
    const double distance = both_nan ? 0.0 : finite;
    if (!options_.tolerance || distance > *options_.tolerance) {
      result_.differing += 1;
      result_.max_abs = std::max(result_.max_abs, distance);
    }
  }

  const CompareOptions& options_;
  TensorDifference& result_;
  std::vector<double> values_a_;
  std::vector<double> values_b_;
};

std::vector<std::string> differing_texts(const CheckpointReader& a, const CheckpointReader& b) {
  const std::vector<std::string> keys_a = a.common_keys();
  const std::vector<std::string> keys_b = b.common_keys();
  const std::set<std::string> in_a(keys_a.begin(), keys_a.end());
  const std::set<std::string> in_b(keys_b.begin(), keys_b.end());
  std::set<std::string> all = in_a;
  all.insert(in_b.begin(), in_b.end());
  std::vector<std::string> result;
  for (const std::string& key : all) {
    if (in_a.count(key) == 0 || in_b.count(key) == 0 || a.common(key) != b.common(key)) {
      result.push_back(key);
    }
  }
  return result;
}

/// By any of its names.
const TensorInfo* counterpart(const CheckpointReader& checkpoint, const TensorInfo& info) {
  const TensorInfo* found = checkpoint.find(info.key);
  for (std::size_t i = 0; found == nullptr && i < info.aliases.size(); ++i) {
    found = checkpoint.find(info.aliases[i]);
  }
  return found;
}

}  // namespace

CheckpointDifference compare_checkpoints(const CheckpointReader& a, const CheckpointReader& b,
                                         const CompareOptions& options) {
  const auto wanted = [&](const TensorInfo& info) {
    return !options.select || options.select(info.key);
  };
  CheckpointDifference result;
  for (const TensorInfo& info : a.tensors()) {
    const TensorInfo* other = counterpart(b, info);
    if (!wanted(info)) {
      continue;
    }
    if (other == nullptr) {
      result.only_in_a.push_back(info.key);
      continue;
    }
    TensorDifference difference{info.key, kind(info), kind(*other)};
    if (difference.kind_a == difference.kind_b) {
      TensorCompare(options, difference).run(a, b, info, *other);
    }
    if (difference.kind_a != difference.kind_b || difference.differing > 0) {
      result.tensors.push_back(std::move(difference));
    } else {
      result.equal_tensors += 1;
    }
  }
  for (const TensorInfo& info : b.tensors()) {
    if (wanted(info) && counterpart(a, info) == nullptr) {
      result.only_in_b.push_back(info.key);
    }
  }
  result.texts = differing_texts(a, b);
  return result;
}

}  // namespace sherd::io
