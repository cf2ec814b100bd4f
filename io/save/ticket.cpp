// The events of a save, as the caller sees them: staged, written, durable, committed.
#include "io/save/ticket.hpp"

#include <algorithm>

#include "sherd/base/check.hpp"

namespace sherd::io {
namespace {

bool is_final(SavePhase phase) {
  return phase == SavePhase::committed || phase == SavePhase::failed;
}

double* time_of(SaveTimes& times, SavePhase phase) {
  switch (phase) {
    case SavePhase::staged:
      return &times.staged;
    case SavePhase::written:
      return &times.written;
    case SavePhase::durable:
      return &times.durable;
    case SavePhase::committed:
      return &times.committed;
    case SavePhase::staging:
    case SavePhase::failed:
      break;
  }
  return nullptr;
}

SaveTicket::Impl& checked(const std::shared_ptr<SaveTicket::Impl>& impl) {
  expect(impl != nullptr, "SaveTicket is empty. Try: checking valid() first");
  return *impl;
}

}  // namespace

double SaveTicket::Impl::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void SaveTicket::Impl::advance(SavePhase to) {
  const std::lock_guard lock(mutex);
  enter(to);
}

void SaveTicket::Impl::note(SavePhase event) {
  const std::lock_guard lock(mutex);
  stamp(event);
}

void SaveTicket::Impl::stamp(SavePhase event) {
  if (double* time = time_of(times, event); time != nullptr && *time < 0) {
    *time = seconds();
  }
}

void SaveTicket::Impl::enter(SavePhase to) {
  phase = to;
  stamp(to);
  changed.notify_all();
}

void SaveTicket::Impl::fail(std::exception_ptr with) {
  const std::lock_guard lock(mutex);
  phase = SavePhase::failed;
  error = std::move(with);
  changed.notify_all();
}

void SaveTicket::Impl::chunk_staged() {
  const std::lock_guard lock(mutex);
  if (++chunks_staged == plan->chunks.size()) {
    enter(SavePhase::staged);
  }
  changed.notify_all();
}

void SaveTicket::Impl::wrote(std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  bytes_written += bytes;
}

void SaveTicket::Impl::add_stall(double seconds) {
  const std::lock_guard lock(mutex);
  stall += seconds;
}

bool SaveTicket::Impl::finished() const {
  const std::lock_guard lock(mutex);
  return is_final(phase);
}

void SaveTicket::Impl::wait_finished() const {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return is_final(phase); });
}

void SaveTicket::Impl::wait_chunks(std::size_t chunks) {
  const double before = seconds();
  std::unique_lock lock(mutex);
  if (chunks_staged >= chunks || is_final(phase)) {
    return;
  }
  changed.wait(lock, [&] { return chunks_staged >= chunks || is_final(phase); });
  stall += seconds() - before;
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

std::int64_t SaveTicket::step() const { return checked(impl_).step; }

SavePhase SaveTicket::phase() const {
  const std::lock_guard lock(checked(impl_).mutex);
  return impl_->phase;
}

void SaveTicket::wait() const {
  checked(impl_).wait_finished();
  const std::lock_guard lock(impl_->mutex);
  if (impl_->error != nullptr) {
    impl_->delivered = true;
    std::rethrow_exception(impl_->error);
  }
}

void SaveTicket::wait_staged(int group) const {
  if (impl_ != nullptr) {
    impl_->wait_chunks(impl_->plan->chunks_up_to(group));
  }
}

void SaveTicket::wait_staged() const {
  if (impl_ != nullptr) {
    impl_->wait_chunks(impl_->plan->chunks.size());
  }
}

double SaveTicket::stall_seconds() const {
  const std::lock_guard lock(checked(impl_).mutex);
  return impl_->stall;
}

SaveTimes SaveTicket::times() const {
  const std::lock_guard lock(checked(impl_).mutex);
  return impl_->times;
}

SaveProgress SaveTicket::progress() const {
  const std::lock_guard lock(checked(impl_).mutex);
  SaveProgress progress{impl_->plan->bytes, std::min(impl_->bytes_written, impl_->plan->bytes)};
  const double until = impl_->times.written >= 0 ? impl_->times.written : impl_->seconds();
  if (until > 0) {
    progress.bytes_per_second = static_cast<double>(progress.bytes_written) / until;
  }
  if (progress.bytes_per_second > 0) {
    progress.seconds_left = static_cast<double>(progress.bytes_total - progress.bytes_written) /
                            progress.bytes_per_second;
  }
  return progress;
}

}  // namespace sherd::io
