#pragma once

#include <cstddef>
#include <span>

namespace sherd::comm {

/// Memory that several ranks of one node map at once. Owns the mapping; destruction is local.
/// Writing is ordered against other ranks' reading by an EpochBoard or a barrier, never by the
/// memory itself.
class SharedRegion {
 public:
  virtual ~SharedRegion() = default;
  [[nodiscard]] virtual std::span<std::byte> bytes() const noexcept = 0;

 protected:
  SharedRegion() = default;
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
};

}  // namespace sherd::comm
