#include "io/save_job.hpp"

#include <fcntl.h>

#include "io/checkpoint_folder.hpp"
#include "io/commit.hpp"
#include "io/crash_point.hpp"
#include "io/crc32c.hpp"
#include "io/file_ops.hpp"
#include "io/shard_writer.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

namespace sherd::io {
namespace {

/// Adds the time until it goes out of scope to a counter of microseconds.
class PhaseTimer {
 public:
  explicit PhaseTimer(std::int64_t& total) : total_(total) {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer() {
    total_ += std::chrono::duration_cast<std::chrono::microseconds>(
                  std::chrono::steady_clock::now() - start_)
                  .count();
  }

 private:
  std::int64_t& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string what_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an unknown error";
  }
}

}  // namespace

SaveJob::SaveJob(Settings settings, std::shared_ptr<const SavePlan> plan, const std::byte* staging,
                 std::shared_ptr<FileSystem> fs, std::shared_ptr<SaveTicket::Impl> ticket)
    : settings_(std::move(settings)),
      plan_(std::move(plan)),
      staging_(staging),
      fs_(std::move(fs)),
      ticket_(std::move(ticket)) {
  vote_.rank = settings_.rank;
  vote_.uuid = settings_.uuid;
  vote_.timing.rank = settings_.rank;
  vote_.timing.stage_us = static_cast<std::int64_t>(ticket_->stall_seconds * 1e6);
}

void SaveJob::set_index(std::vector<std::byte> image,
                        const std::map<std::string, std::string>& texts) {
  index_ = std::move(image);
  manifest_ = plan_->manifest;
  manifest_.step = ticket_->step;
  manifest_.uuid = settings_.uuid;
  for (TextRecord& text : manifest_.texts) {
    text.bytes = texts.at(text.key).size();
  }
}

void SaveJob::run() noexcept {
  try {
    crash_point("after_staging", settings_.rank);
    write_part();
    crash_point("before_vote", settings_.rank);
    cast_vote(*fs_, settings_.folder, vote_);
    voted_ = true;
    crash_point("after_vote", settings_.rank);
    ticket_->advance(SavePhase::durable);
    commit_or_follow();
    ticket_->advance(SavePhase::committed);
  } catch (...) {
    report(std::current_exception());
  }
}

void SaveJob::write_part() {
  if (settings_.rank == 0) {
    crash_point("before_index", 0);
    write_index();
    crash_point("after_plan", 0);
  }
  compute_digests();
  ShardWriter writer(*fs_, settings_.folder / plan_->file_name);
  {
    const PhaseTimer timer(vote_.timing.write_us);
    write_structure(writer);
    write_data(writer);
  }
  ticket_->advance(SavePhase::written);
  crash_point("after_write", settings_.rank);
  const PhaseTimer timer(vote_.timing.sync_us);
  writer.sync();
  sync_directory(*fs_, settings_.folder / "shards");
  crash_point("after_sync", settings_.rank);
}

void SaveJob::write_structure(ShardWriter& writer) {
  if (!plan_->leads_node) {
    return;
  }
  writer.allocate(plan_->node_file.bytes);
  for (const Segment& segment : plan_->node_file.structure) {
    writer.write(segment.bytes.data(), segment.offset, segment.bytes.size());
  }
  writer.extend(plan_->node_file.bytes);
  crash_point("after_structure", settings_.rank);
}

void SaveJob::write_data(ShardWriter& writer) {
  std::uint64_t total = 0;
  for (const WriteRun& run : plan_->staging.runs) {
    total += run.bytes;
  }
  std::uint64_t written = 0;
  for (const WriteRun& run : plan_->staging.runs) {
    writer.write(staging_ + run.stage_offset, run.file_offset, run.bytes, [&](std::uint64_t bytes) {
      written += bytes;
      if (2 * written >= total) {
        crash_point("during_write", settings_.rank);
      }
    });
  }
}

void SaveJob::write_index() {
  manifest_.files.front().structure_crc32c = crc32c(index_);
  {
    const File file(*fs_, settings_.folder / "index.h5", O_WRONLY | O_CREAT | O_TRUNC);
    file.write_at(index_, 0);
    file.sync();
  }
  crash_point("after_index", 0);
  write_text_durably(*fs_, settings_.folder / "plan.json", to_json(manifest_));
  sync_directory(*fs_, settings_.directory);
}

void SaveJob::compute_digests() {
  const PhaseTimer timer(vote_.timing.crc_us);
  for (const StagedItem& item : plan_->staging.items) {
    vote_.crc32c.push_back(crc32c({staging_ + item.stage_offset, item.bytes}));
  }
}

void SaveJob::commit_or_follow() {
  if (settings_.rank != 0) {
    wait_for_commit(settings_.directory, settings_.folder, ticket_->step, settings_.uuid,
                    settings_.timeout);
    return;
  }
  const std::vector<Vote> votes =
      wait_for_votes(settings_.folder, manifest_.world_size, settings_.uuid, settings_.timeout);
  crash_point("after_votes", 0);
  commit(*fs_, settings_.directory, settings_.folder, complete_manifest(manifest_, votes));
  try {
    crash_point("before_retention", 0);
    apply_retention(*fs_, settings_.directory, settings_.retention, ticket_->step);
    crash_point("after_retention", 0);
  } catch (const std::exception& error) {
    log::warning(std::string("old checkpoints were not removed: ") + error.what());
  }
}

void SaveJob::report(std::exception_ptr error) noexcept {
  try {
    if (!voted_) {
      vote_.ok = false;
      vote_.error = what_of(error);
      cast_vote(*fs_, settings_.folder, vote_);
    }
    if (settings_.rank == 0) {
      note_failure(*fs_, settings_.folder, what_of(error));
    }
  } catch (...) {
    log::warning("a failed checkpoint could not be reported to the other ranks");
  }
  ticket_->fail(std::move(error));
}

}  // namespace sherd::io
