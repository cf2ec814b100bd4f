#include "nn/rope_cache.hpp"

namespace sherd::nn {

const kernel::RopeTables* RopeCache::get(std::int64_t seq, DType dtype) {
  const bool wide = dtype == DType::f64;
  kernel::RopeTables& tables = wide ? wide_ : narrow_;
  if (!tables.cos.defined() || tables.cos.size(0) < seq) {
    tables = kernel::make_rope_tables(seq, head_dim_, theta_, wide ? DType::f64 : DType::f32);
  }
  return &tables;
}

}  // namespace sherd::nn
