#include "tensor/kernel/product_panels.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sherd/runtime/team.hpp"

namespace sherd::kernel {
namespace {

/// Multiplications below which a product is not cut, and those that a panel of a large one has.
constexpr std::int64_t kWorthCutting = std::int64_t{32} << 20;
constexpr std::int64_t kOfAPanel = std::int64_t{512} << 20;
/// Enough for any team; more would only be smaller.
constexpr std::int64_t kMostWanted = 64;

/// Sizes at which kernels lose nothing, or next to nothing, against the whole product.
struct GoodSizes {
  std::int64_t rows, tall, cols, least_rows;
};
/// Rows of b are packed once for each panel: with 256 rows of a for a few percent of the time.
/// A product of 1024 x 1536 x 512 in panels of 256 x 1536 runs at 0.99 of its rate, of 256 x 512 at
/// 0.95, of 128 x 512 at 0.9 (kernels_bench with these constants changed).
constexpr GoodSizes kAvx512{256, 512, 512, 128};
/// oneDNN's older kernels take a slow way, at 0.6 of the rate, for few rows of a transposed a.
constexpr GoodSizes kAvx2{768, 768, 768, 256};

/// How many parts of about a good size, or somewhat larger: a number that 2 threads share evenly,
/// from 8 on 4 threads, from 16 on 8.
std::int64_t parts(std::int64_t size, std::int64_t good) {
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(1, size / good));
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(most) / 2, most > 1 ? 2 : 1);
  return static_cast<std::int64_t>(most / step * step);
}

/// `size` in that many parts of equal whole lines.
std::int64_t part(std::int64_t size, std::int64_t count, std::int64_t line) {
  return ((size + count - 1) / count + line - 1) / line * line;
}

std::int64_t panels_wanted(std::int64_t work) {
  return std::clamp<std::int64_t>(work / kOfAPanel, work < kWorthCutting ? 1 : 2, kMostWanted);
}

const std::byte* at(const void* data, std::int64_t element, DType dtype) {
  return static_cast<const std::byte*>(data) + element * static_cast<std::int64_t>(size_of(dtype));
}

/// The product with its rows' distances said: a panel's rows lie further apart than it is wide.
onednn::Product spread(onednn::Product p) {
  p.row_a = p.row_a != 0 ? p.row_a : p.trans_a ? p.m : p.k;
  p.row_b = p.row_b != 0 ? p.row_b : p.trans_b ? p.k : p.n;
  p.row_c = p.row_c != 0 ? p.row_c : p.n;
  return p;
}

}  // namespace

Panels panels_of(const onednn::Product& p, bool has_avx512) noexcept {
  constexpr std::int64_t kRowLine = 16;
  constexpr std::int64_t kColLine = 64;
  const GoodSizes& good = has_avx512 ? kAvx512 : kAvx2;
  // Few rows take as long as these: the time is that of reading b.
  constexpr std::int64_t kFewRows = 16;
  const std::int64_t wanted = panels_wanted(std::max(p.m, kFewRows) * p.n * p.k);
  if (wanted == 1) {
    return {p.m, p.n};
  }
  std::int64_t rows = parts(p.m, good.rows);
  std::int64_t cols = 1;
  if (rows < wanted && parts(p.n, good.cols) > 1) {
    const std::int64_t tall = parts(p.m, good.tall);
    rows = tall * parts(p.n, good.cols) >= wanted ? tall : rows;
    cols = std::min((wanted + rows - 1) / rows, parts(p.n, good.cols));
  }
  if (rows * cols == 1) {
    rows = std::min<std::int64_t>(2, parts(p.m, good.least_rows));
  }
  return {rows == 1 ? p.m : part(p.m, rows, kRowLine), cols == 1 ? p.n : part(p.n, cols, kColLine)};
}

void run_in_panels(const onednn::Product& product, const void* a, const void* b, void* c) {
  const Panels panels = panels_of(product, onednn::has_avx512());
  if (panels == Panels{product.m, product.n}) {
    return onednn::run(product, a, b, c);
  }
  const onednn::Product whole = spread(product);
  const std::int64_t across = (whole.n + panels.cols - 1) / panels.cols;
  const std::int64_t down = (whole.m + panels.rows - 1) / panels.rows;
  runtime::for_blocks(across * down, [&](std::int64_t panel) {
    const std::int64_t row = panel / across * panels.rows;
    const std::int64_t col = panel % across * panels.cols;
    onednn::Product p = whole;
    p.m = std::min(panels.rows, whole.m - row);
    p.n = std::min(panels.cols, whole.n - col);
    onednn::run(p, at(a, p.trans_a ? row : row * p.row_a, p.in),
                at(b, p.trans_b ? col * p.row_b : col, p.in),
                const_cast<std::byte*>(at(c, row * p.row_c + col, p.out)));
  });
}

}  // namespace sherd::kernel
