// From bytes of a file to the places of their elements in memory.
#include "io/load/deposit.hpp"

#include <algorithm>
#include <cstring>

namespace sherd::io {
namespace {

constexpr std::int64_t kConverted = 16384;  // elements at once

/// `numel` elements of `dtype` that lie anywhere, to an aligned place of another dtype.
void convert_elements(const std::byte* from, DType dtype, const Tensor& to) {
  const Tensor aligned = Tensor::empty(Shape{std::min(to.numel(), kConverted)}, dtype);
  for (std::int64_t done = 0; done < to.numel(); done += aligned.numel()) {
    const Tensor part = aligned.slice(0, std::min(aligned.numel(), to.numel() - done));
    std::memcpy(part.raw(), from + done * static_cast<std::int64_t>(size_of(dtype)), part.nbytes());
    convert(part, to.slice(done, part.numel()));
  }
}

void deposit_slice(const ReadSlice& slice, const Fragment& fragment, const LoadItem& item, int rank,
                   const std::byte* bytes) {
  const TensorRecord& record = *item.record;
  const auto width = static_cast<std::int64_t>(size_of(record.dtype));
  for_each_run(record.shape.extents(), region_of(*fragment.piece), slice.part,
               region_of(*item.layout, rank), [&](const CopyRun& run) {
                 const std::byte* from = bytes + (run.from - slice.part.first) * width;
                 if (record.dtype == item.memory.dtype()) {
                   std::memcpy(item.memory.raw() + run.to * width, from,
                               static_cast<std::size_t>(run.numel * width));
                 } else {
                   convert_elements(from, record.dtype, item.memory.slice(run.to, run.numel));
                 }
               });
}

}  // namespace

void deposit(const ReadList& list, const ReadChunk& chunk, std::span<const std::byte> bytes,
             std::span<const LoadItem> items, int rank) {
  for (const ReadSlice& slice : list.slices_of(chunk)) {
    const Fragment& fragment = list.fragments[slice.fragment];
    deposit_slice(slice, fragment, items[fragment.item], rank, bytes.data() + slice.at);
  }
}

}  // namespace sherd::io
