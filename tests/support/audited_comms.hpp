#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sherd/comm/mesh_comms.hpp"
#include "support/happens_before.hpp"

namespace sherd::testing {

/// A wait that tells the checker nothing: as if the code did not wait.
struct Deafness {
  /// Of a board: what is waited for, which of its slots. Null: hears everything.
  std::function<bool(const std::string& what, std::size_t slot, std::size_t slots)> board;
  bool world = false;  ///< barriers and collectives over all ranks
};

/// One rank's way to the checker: its stores and reducers report to it, its communicators carry
/// clocks.
struct AuditedRank {
  HappensBefore& checker;
  int rank = 0;
  Deafness deaf;
};

/// Replaces the communicators of `comms` by ones that pass everything on and carry clocks.
/// `audited` must outlive them.
void audit(comm::MeshComms& comms, AuditedRank& audited);

/// Reports what this rank's stores and reducers do, while it lives.
class ScopedSlotAudit : public fsdp::SlotAudit {
 public:
  explicit ScopedSlotAudit(AuditedRank& audited) : audited_(audited) { fsdp::slot_audit = this; }
  ~ScopedSlotAudit() override { fsdp::slot_audit = nullptr; }

  void begin(fsdp::Access access, const std::byte* first, std::size_t bytes) override {
    audited_.checker.begin(audited_.rank, HappensBefore::Actor::rank, access, first, bytes);
  }
  void end(fsdp::Access access, const std::byte* first, std::size_t bytes) override {
    audited_.checker.end(audited_.rank, HappensBefore::Actor::rank, access, first, bytes);
  }

 private:
  AuditedRank& audited_;
};

}  // namespace sherd::testing
