// The caller's side of a save: the ranks agree, a job begins.
#include "io/save/saver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <typeinfo>

#include "io/commit/committed.hpp"
#include "io/commit/folder.hpp"
#include "io/commit/leftovers.hpp"
#include "io/disk/damaged.hpp"
#include "io/disk/page.hpp"
#include "io/layout/host_state.hpp"
#include "io/layout/storable.hpp"
#include "io/save/write_queue.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLargestChunk = std::uint64_t{8} << 20;
constexpr std::uint64_t kSmallestChunk = std::uint64_t{64} << 10;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What moves the bytes here: the environment variable SHERD_IO names one for tests that look at
/// system calls.
WriteBackend choose_backend(WriteBackend wanted, const FileSystem& fs) {
  const char* text = std::getenv("SHERD_IO");
  const std::string_view forced = text == nullptr ? "" : text;
  validate(forced.empty() || forced == "pwrite",
           fmt::format("SHERD_IO is '{}'. Try: pwrite, or unsetting it", forced));
  const bool seam = typeid(fs) != typeid(FileSystem);
  if (wanted == WriteBackend::automatic) {
    const bool ring = forced != "pwrite" && !seam && io_uring_works();
    return ring ? WriteBackend::io_uring : WriteBackend::pwrite;
  }
  validate(wanted != WriteBackend::io_uring || io_uring_works(),
           "io_uring cannot be had here (kernel, container or build). Try: the automatic or the "
           "pwrite backend");
  return wanted;
}

std::string joined(const std::map<std::string, std::string>& texts) {
  std::string all;
  for (const auto& [key, text] : texts) {
    all += fmt::format("{} {}\n{}\n", key, text.size(), text);
  }
  return all;
}

/// Whose memory tensors of the state are in; null: all are in host memory.
runtime::Device* device_of(const dtensor::StateDict& state) {
  for (const auto& [key, tensor] : state.tensors) {
    if (tensor.local.is_on_device()) {
      return tensor.local.device();
    }
  }
  return nullptr;
}

/// Empty when nothing usable is committed there.
std::string uuid_at(const std::filesystem::path& folder) {
  try {
    return read_manifest(folder / "COMMITTED.json").uuid;
  } catch (const DamagedError&) {
    return "";
  }
}

std::string plan_signature(const dtensor::StateDict& state) {
  std::string text = structure_signature(state);
  for (const auto& [key, capacity] : capacities_for(state.common)) {
    text += fmt::format("\n{} {}", key, capacity);
  }
  return text;
}

}  // namespace

/// What the ranks tell each other at the start of a save. Numbers that must be equal travel with
/// their negatives, so that one maximum shows both bounds.
struct Saver::Consensus {
  enum Field : std::size_t { invalid, busy, undelivered, changed, step, names, common, count };
  std::array<std::int64_t, 2 * count> values{};

  void set(Field field, std::int64_t value) {
    values[field] = value;
    values[count + field] = -value;
  }
  bool any(Field field) const { return values[field] != 0; }
  bool equal(Field field) const { return values[field] == -values[count + field]; }
};

Saver::Saver(const comm::Ranks& ranks, const CheckpointerOptions& options,
             std::shared_ptr<FileSystem> fs)
    : ranks_(ranks), options_(options), fs_(std::move(fs)) {
  all_or_none(ranks_, [&] { backend_ = choose_backend(options_.backend, *fs_); });
  line_.run = make_uuid();
  if (backend_ == WriteBackend::mpio) {
    mpio_.emplace(ranks_, options_.layout);
  }
}

Saver::~Saver() {
  finish();
  if (const std::exception_ptr error = last_ ? last_->take_undelivered() : nullptr) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& exception) {
      log::error(fmt::format("checkpoint of step {} failed: {}", last_->step, exception.what()));
    }
  }
}

void Saver::finish() {
  if (worker_.joinable()) {
    worker_.join();
  }
}

void Saver::poll() {
  if (const std::exception_ptr error = last_ ? last_->take_undelivered() : nullptr) {
    std::rethrow_exception(error);
  }
}

void Saver::prepare(const dtensor::StateDict& state) {
  finish();
  if (consult(0, state).any(Consensus::changed)) {
    renew_plan(state);
    if (!mpio_) {  // which writes from the caller's memory
      staging_.touch_in_background();
    }
  }
}

SaveTicket Saver::save(std::int64_t step, const dtensor::StateDict& state) {
  const Clock::time_point start = Clock::now();
  if (options_.overlap == Overlap::wait) {
    finish();
  }
  const Consensus consensus = consult(step, state);
  if (consensus.any(Consensus::busy)) {
    if (options_.overlap == Overlap::skip) {
      return {};
    }
    throw IoError(
        fmt::format("checkpoint of step {}: the one of step {} is still being written. "
                    "Try: overlap wait or skip, or a longer interval",
                    step, last_->step));
  }
  finish();
  if (consensus.any(Consensus::undelivered)) {
    deliver_earlier_failure();
  }
  if (consensus.any(Consensus::changed)) {
    renew_plan(state);
  }
  SaveJob::Settings settings = begin(step);
  last_ = std::make_shared<SaveTicket::Impl>(step, plan_->staging, start);
  launch(std::move(settings), state);
  last_->add_stall(seconds_since(start));
  return SaveTicket(last_);
}

Saver::Consensus Saver::consult(std::int64_t step, const dtensor::StateDict& state) {
  std::exception_ptr problem;
  try {
    expect(step >= 0, "a checkpoint's step is negative");
    check_not_empty(state);
    check_state(state);
  } catch (const ArgumentError&) {
    problem = std::current_exception();
  }
  Consensus consensus;
  consensus.set(Consensus::invalid, problem != nullptr);
  consensus.set(Consensus::busy, last_ != nullptr && !last_->finished());
  consensus.set(Consensus::undelivered, last_ != nullptr && last_->has_undelivered());
  consensus.set(Consensus::changed, plan_signature(state) != signature_);
  consensus.set(Consensus::step, step);
  consensus.set(Consensus::names, comm::text_hash(shared_signature(state)));
  consensus.set(Consensus::common, comm::text_hash(joined(state.common)));
  max_over_ranks(ranks_, consensus.values);
  if (consensus.any(Consensus::invalid)) {
    all_or_none(ranks_, [&] {
      if (problem != nullptr) {
        std::rethrow_exception(problem);
      }
    });
  }
  expect(consensus.equal(Consensus::step), "ranks save different steps");
  expect(consensus.equal(Consensus::names),
         "ranks save states of different structure (names, shapes and dtypes of tensors and names "
         "of per_rank and common entries must be equal)");
  expect(consensus.equal(Consensus::common),
         "ranks save different common texts (only one can be stored). Try: per_rank");
  return consensus;
}

void Saver::deliver_earlier_failure() {
  if (const std::exception_ptr error = last_->take_undelivered()) {
    std::rethrow_exception(error);
  }
  throw IoError(
      fmt::format("the checkpoint of step {} failed, as reported here before, and another "
                  "rank has only now learnt it",
                  last_->step));
}

/// This rank's part of the node's staging memory.
std::uint64_t Saver::staging_share() const {
  return options_.staging_bytes_per_node / static_cast<std::uint64_t>(ranks_.mesh->local_size());
}

void Saver::renew_plan(const dtensor::StateDict& state) {
  signature_.clear();
  const std::uint64_t share = staging_share();
  const std::uint64_t chunk = std::clamp(share / 4 / kPage * kPage, kSmallestChunk, kLargestChunk);
  plan_ = make_save_plan(ranks_, {options_.layout, chunk}, state);
  // Two chunks at least: one is copied while the other is written.
  const std::uint64_t most = std::max(share, 2 * (chunk + kPage));
  all_or_none(ranks_,
              [&] { staging_.reserve(std::min(plan_->staging->memory, most), device_of(state)); });
  signature_ = plan_signature(state);
}

void Saver::go_on_from(const Lineage& lineage, std::int64_t step, const std::string& uuid) {
  line_ = {make_uuid(), uuid, 0, "", past_after(lineage, step)};
}

/// Rank 0: of the save that begins.
Lineage Saver::next_on_line(std::int64_t step) {
  if (last_ != nullptr && SaveTicket(last_).phase() == SavePhase::committed) {
    line_.parent = last_uuid_;
  }
  line_.sequence = lease_->next_number([this] {
    std::int64_t highest = 0;
    for (const Committed& folder : read_committed(options_.directory)) {
      highest = std::max(highest, folder.lineage.sequence);
    }
    return highest;
  });
  Lineage lineage = line_;
  lineage.replaces = options_.overwrite ? uuid_at(options_.directory / step_name(step)) : "";
  return lineage;
}

SaveJob::Settings Saver::begin(std::int64_t step) {
  std::string uuid = ranks_.rank() == 0 ? make_uuid() : "";
  broadcast_text(ranks_, uuid);
  const std::filesystem::path folder = options_.directory / in_flight_name({step, uuid});
  Lineage lineage;
  all_or_none(ranks_, [&] {
    if (ranks_.rank() == 0) {
      lease_->require_held();
      clean_leftovers();
      lineage = next_on_line(step);
      leftovers_ = true;  // until all of the folder is there
      open_in_flight(*fs_, options_.directory, {step, uuid}, options_.overwrite);
    }
  });
  leftovers_ = false;
  last_uuid_ = uuid;
  return {options_.directory,
          folder,
          uuid,
          ranks_.rank(),
          Retention{options_.keep_last, options_.keep_every},
          std::chrono::duration<double>(options_.commit_timeout_seconds),
          backend_,
          options_.verify_after_save,
          {},
          std::move(lineage)};
}

void Saver::clean_leftovers() {
  const bool failed = last_ != nullptr && SaveTicket(last_).phase() == SavePhase::failed;
  if (leftovers_ || failed) {
    for (const std::string& note : clean_up(*fs_, options_.directory)) {
      log::warning("checkpoints: " + note);
    }
  }
}

void Saver::launch(SaveJob::Settings settings, const dtensor::StateDict& state) {
  if (ranks_.rank() == 0) {
    settings.texts = state.common;
  }
  auto job = std::make_unique<SaveJob>(
      std::move(settings), plan_,
      // MPI-IO takes all of it at once, from host memory.
      StageSources(plan_->layout, ranks_.rank(), mpio_ ? on_host(state) : state), staging_, fs_,
      last_);
  if (mpio_) {
    write_now(*job);
  }
  worker_ = std::thread([job = std::move(job)] {
    runtime::leave_the_team();
    job->run();
  });
}

/// MPI and HDF5 belong to the calling thread; what is left for the background is syncing, votes and
/// the commit.
void Saver::write_now(SaveJob& job) {
  try {
    all_or_none(ranks_, [&] { job.make_files(); });
    job.write_collectively(*mpio_);
  } catch (...) {
    last_->fail(std::current_exception());
    static_cast<void>(last_->take_undelivered());  // this call tells it
    throw;
  }
}

}  // namespace sherd::io
