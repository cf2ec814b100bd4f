#include "models/llama/rope_cache.hpp"

namespace sherd::models {

const kernel::RopeTables* RopeCache::get(std::int64_t seq, const Tensor& data) {
  const bool wide = data.dtype() == DType::f64;
  kernel::RopeTables& tables = wide ? wide_ : narrow_;
  const bool fits = tables.cos.defined() && tables.cos.size(0) >= seq &&
                    tables.cos.is_on_device() == data.is_on_device();
  if (!fits) {
    tables =
        kernel::make_rope_tables(seq, frequencies_, wide ? DType::f64 : DType::f32, data.where());
  }
  return &tables;
}

}  // namespace sherd::models
