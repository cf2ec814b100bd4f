#include "comm/memory/staging_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sherd::comm {

std::shared_ptr<std::byte> StagingPool::take(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, 4096));
  std::unique_ptr<std::byte[]> block;
  if (const auto at = free_->find(size); at != free_->end()) {
    block = std::move(at->second);
    free_->erase(at);
  } else {
    block = std::make_unique_for_overwrite<std::byte[]>(size);
  }
  const auto give_back = [free = free_, size](std::byte* memory) {
    free->emplace(size, std::unique_ptr<std::byte[]>(memory));
  };
  return {block.release(), give_back};
}

}  // namespace sherd::comm
