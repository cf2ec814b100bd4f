#pragma once

#include <cstddef>
#include <cstdint>

#include "sherd/tensor/tensor.hpp"

namespace sherd::fsdp {

enum class Access : std::uint8_t { read, write };

/// Hears from stores and reducers when this rank begins and ends to use memory that others use too:
/// a seam for tests that prove that no use overlaps a conflicting one. A use ends before the rank
/// tells the others so. Local, any number of uses at once; ending one that was not begun is legal.
class SlotAudit {
 public:
  SlotAudit() = default;
  virtual ~SlotAudit() = default;
  SlotAudit(const SlotAudit&) = delete;
  SlotAudit& operator=(const SlotAudit&) = delete;

  virtual void begin(Access access, const std::byte* first, std::size_t bytes) = 0;
  virtual void end(Access access, const std::byte* first, std::size_t bytes) = 0;
};

/// Of the rank this thread is; null outside tests. Not owned.
inline thread_local SlotAudit* slot_audit = nullptr;

inline void audit_begin(Access access, const Tensor& memory) {
  if (slot_audit != nullptr) {
    slot_audit->begin(access, memory.raw(), memory.nbytes());
  }
}

inline void audit_end(Access access, const Tensor& memory) {
  if (slot_audit != nullptr) {
    slot_audit->end(access, memory.raw(), memory.nbytes());
  }
}

}  // namespace sherd::fsdp
