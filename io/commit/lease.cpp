#include "io/commit/lease.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <system_error>
#include <utility>

#include "io/commit/folder.hpp"
#include "io/commit/poll_until.hpp"
#include "io/disk/file_ops.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

constexpr std::chrono::milliseconds kMomentToWrite{500};

std::string refusal(const fs_std::path& folder, const OwnerMark& mark) {
  return fmt::format(
      "'{}' is being written by {} (two runs in one folder would destroy each other's files). Try: "
      "another folder, or ending that program first",
      folder.string(), describe(mark));
}

/// Throws ConfigError when the mark is renewed, or another takes its place, within `patience`.
void watch(const fs_std::path& folder, const MarkSeen& first, std::chrono::milliseconds patience) {
  log::warning(fmt::format(
      "'{}' is marked by {}, which cannot be asked from here: watching for {:.0f} s whether it is "
      "alive",
      folder.string(), describe(first.mark), std::chrono::duration<double>(patience).count()));
  std::optional<MarkSeen> now = first;
  const bool changed = poll_until(patience, [&] {
    now = look_at_mark(folder);
    return !now || now->stamp != first.stamp;
  });
  if (changed && now) {
    throw ConfigError(refusal(folder, now->mark.uuid.empty() ? first.mark : now->mark));
  }
}

/// A mark is written a moment after it is made: one that stays empty was left by a program that
/// died in between.
bool says_who_soon(const fs_std::path& folder) {
  return poll_until(kMomentToWrite, [&] {
    const auto now = look_at_mark(folder);
    return !now || !now->mark.uuid.empty();
  });
}

struct Registry {
  std::mutex mutex;
  std::map<std::pair<pid_t, std::string>, std::weak_ptr<Lease>> leases;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

std::shared_ptr<Lease> Lease::take(const fs_std::path& folder, Timing timing) {
  std::error_code unknown;
  const fs_std::path whole = fs_std::canonical(folder, unknown);
  if (unknown) {
    throw IoError(fmt::format("cannot look at '{}': {}", folder.string(), unknown.message()));
  }
  const std::lock_guard lock(registry().mutex);
  std::weak_ptr<Lease>& known = registry().leases[{::getpid(), whole.string()}];
  std::shared_ptr<Lease> lease = known.lock();
  if (!lease) {
    lease = std::make_shared<Lease>(whole, timing);
    known = lease;
  }
  return lease;
}

Lease::Lease(fs_std::path folder, Timing timing)
    : folder_(std::move(folder)), mark_(make_owner_mark()) {
  acquire(timing);
  renewal_ = std::jthread([this, timing](const std::stop_token& stop) {
    runtime::leave_the_team();
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, stop, timing.renewal, [&] { return stop.stop_requested(); })) {
      lock.unlock();
      renew();
      lock.lock();
    }
  });
}

Lease::~Lease() {
  renewal_.request_stop();
  renewal_.join();
  try {
    const auto seen = look_at_mark(folder_);
    if (seen && seen->mark.uuid == mark_.uuid) {
      ::unlink(owner_mark_path(folder_).c_str());
    }
  } catch (const Error&) {
    // The mark stays; this process will have ended when somebody judges it.
    log::debug("a writer's mark could not be removed");
  }
}

void Lease::acquire(Timing timing) {
  while (!write_new_mark(folder_, mark_)) {
    const auto seen = look_at_mark(folder_);
    if (!seen) {
      continue;
    }
    if (seen->mark.uuid.empty() && says_who_soon(folder_)) {
      continue;
    }
    if (!seen->mark.uuid.empty() && !has_surely_ended(seen->mark)) {
      if (shares_process_numbers(seen->mark.process)) {
        throw ConfigError(refusal(folder_, seen->mark));
      }
      watch(folder_, *seen, timing.patience);
    }
    take_over(*seen);
  }
}

/// Out of the way by a rename to a name of this process alone. Who judged more slowly than another
/// may have moved the other's new mark: that one goes back to its place.
void Lease::take_over(const MarkSeen& dead) const {
  const fs_std::path aside = folder_ / (".probe-" + make_uuid());
  if (::rename(owner_mark_path(folder_).c_str(), aside.c_str()) != 0) {
    return;  // another program was faster
  }
  const std::string text = read_text(aside);
  if (dead.stamp.ends_with(text)) {
    ::unlink(aside.c_str());
    return;
  }
  // A link never replaces; where it cannot be made, the owner's next renewal makes the mark anew.
  static_cast<void>(::link(aside.c_str(), owner_mark_path(folder_).c_str()));
  ::unlink(aside.c_str());
}

void Lease::renew() {
  try {
    if (renew_mark(folder_, mark_.uuid)) {
      return;
    }
    if (is_there(folder_) && write_new_mark(folder_, mark_)) {
      return;  // somebody had removed it
    }
    const auto seen = look_at_mark(folder_);
    const std::lock_guard lock(mutex_);
    const bool lost = seen && !seen->mark.uuid.empty() && seen->mark.uuid != mark_.uuid;
    lost_to_ = lost ? describe(seen->mark) : "";
  } catch (const Error& error) {
    log::debug(fmt::format("a writer's mark could not be renewed: {}", error.what()));
  }
}

void Lease::require_held() const {
  const std::lock_guard lock(mutex_);
  if (!lost_to_.empty()) {
    throw IoError(fmt::format(
        "'{}' was taken over by {} (this program had not renewed its mark in time; nothing more "
        "is written there). Try: another checkpoint directory",
        folder_.string(), lost_to_));
  }
}

std::int64_t Lease::next_number(const std::function<std::int64_t()>& highest) {
  const std::lock_guard lock(mutex_);
  if (number_ < 0) {
    number_ = highest();
  }
  return ++number_;
}

}  // namespace sherd::io
