#include "io/save_ticket.hpp"

#include <utility>

#include "sherd/base/check.hpp"

namespace sherd::io {
namespace {

bool is_final(SavePhase phase) {
  return phase == SavePhase::committed || phase == SavePhase::failed;
}

}  // namespace

void SaveTicket::Impl::advance(SavePhase to) {
  const std::lock_guard lock(mutex);
  phase = to;
  changed.notify_all();
}

void SaveTicket::Impl::fail(std::exception_ptr with) {
  const std::lock_guard lock(mutex);
  phase = SavePhase::failed;
  error = std::move(with);
  changed.notify_all();
}

bool SaveTicket::Impl::finished() const {
  const std::lock_guard lock(mutex);
  return is_final(phase);
}

void SaveTicket::Impl::wait_finished() const {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return is_final(phase); });
}

std::exception_ptr SaveTicket::Impl::take_undelivered() {
  const std::lock_guard lock(mutex);
  if (error == nullptr) {
    return nullptr;  // one that comes later is still to be told
  }
  return std::exchange(delivered, true) ? nullptr : error;
}

bool SaveTicket::Impl::has_undelivered() const {
  const std::lock_guard lock(mutex);
  return error != nullptr && !delivered;
}

std::int64_t SaveTicket::step() const {
  expect(valid(), "SaveTicket is empty. Try: checking valid() first");
  return impl_->step;
}

SavePhase SaveTicket::phase() const {
  expect(valid(), "SaveTicket is empty. Try: checking valid() first");
  const std::lock_guard lock(impl_->mutex);
  return impl_->phase;
}

void SaveTicket::wait() const {
  expect(valid(), "SaveTicket is empty. Try: checking valid() first");
  impl_->wait_finished();
  const std::lock_guard lock(impl_->mutex);
  if (impl_->error != nullptr) {
    impl_->delivered = true;
    std::rethrow_exception(impl_->error);
  }
}

double SaveTicket::stall_seconds() const {
  expect(valid(), "SaveTicket is empty. Try: checking valid() first");
  return impl_->stall_seconds;
}

}  // namespace sherd::io
