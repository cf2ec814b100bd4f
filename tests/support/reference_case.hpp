#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sherd/models/llama.hpp"

namespace sherd::test {

/// One folder of tests/data/reference: a small Llama's start and what an unsharded f64 run makes of
/// it. Parameter names are Hugging Face's without "model.".
struct ReferenceCase {
  models::LlamaConfig config;
  std::map<std::string, Tensor> weights;     ///< f32
  std::map<std::string, Tensor> grad_step0;  ///< f32
  std::vector<double> loss;                  ///< of each step
  std::vector<std::uint16_t> tokens;
  std::int64_t batch = 0;  ///< sequences a step
  std::int64_t seq = 0;

  /// Ids and targets of step 0: sequence k is tokens [k*seq, k*seq + seq], one more than its
  /// inputs.
  [[nodiscard]] Tensor inputs() const { return window(0, {batch, seq}); }
  [[nodiscard]] Tensor targets() const { return window(1, {batch * seq}); }

 private:
  [[nodiscard]] Tensor window(std::size_t shift, Shape shape) const;
};

/// `name`: "llama" or "llama_tied".
[[nodiscard]] ReferenceCase load_reference(const std::string& name);

/// |a - b| / |b| over all elements (Frobenius norms); a may be f32 or f64, b is f32.
[[nodiscard]] double relative_distance(const Tensor& a, const Tensor& b);

}  // namespace sherd::test
