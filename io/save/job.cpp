// One rank's part of one save, from the first copy to the commit, on a thread of its own.
#include "io/save/job.hpp"

#include <fcntl.h>

#include "io/commit/commit.hpp"
#include "io/commit/folder.hpp"
#include "io/disk/background_priority.hpp"
#include "io/disk/crash_point.hpp"
#include "io/disk/file_ops.hpp"
#include "io/disk/write_signals.hpp"
#include "io/format/meta_fields.hpp"
#include "io/format/structure_file.hpp"
#include "io/save/pipeline.hpp"
#include "io/save/read_back.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

namespace sherd::io {
namespace {

std::int64_t microseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e6); }

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

SaveJob::SaveJob(Settings settings, std::shared_ptr<const SavePlan> plan, StageSources sources,
                 StagingRing& ring, std::shared_ptr<FileSystem> fs,
                 std::shared_ptr<SaveTicket::Impl> ticket)
    : settings_(std::move(settings)),
      plan_(std::move(plan)),
      ring_(ring),
      fs_(std::move(fs)),
      ticket_(std::move(ticket)),
      stager_(plan_->layout, *plan_->staging, std::move(sources)) {
  vote_.rank = settings_.rank;
  vote_.uuid = settings_.uuid;
}

void SaveJob::run() noexcept {
  const WriteSignals held;  // of what io_uring writes for this thread
  try {
    take_background_priority();
    ring_.reset();
    write_part();
    crash("before_vote");
    cast_vote(*fs_, settings_.folder, vote_);
    voted_ = true;
    crash("after_vote");
    ticket_->advance(SavePhase::durable);
    commit_or_follow();
    ticket_->advance(SavePhase::committed);
  } catch (...) {
    report(std::current_exception());
  }
}

void SaveJob::write_collectively(const MpioWriter& writer) {
  writer.write(settings_.folder / plan_->file_name, *plan_, stager_.sources());
  for (const Chunk& chunk : plan_->staging->chunks) {
    stager_.take_digests(chunk);
    ticket_->chunk_staged();
    ticket_->wrote(chunk.bytes);
  }
  ticket_->advance(SavePhase::staged);
  data_written_ = true;
}

void SaveJob::write_part() {
  if (!files_made_) {
    make_files();
  }
  ShardGate gate(*fs_, {settings_.folder, plan_->file_name, plan_->file_bytes, settings_.timeout},
                 settings_.backend);
  if (plan_->leads_file) {
    gate.open();
  }
  if (!data_written_) {
    move_data(gate);
  }
  ticket_->advance(SavePhase::written);
  crash("after_write");
  if (plan_->leads_file || plan_->staging->bytes > 0) {
    gate.wait_open();
    gate.writer().sync();
    sync_directory(*fs_, (settings_.folder / plan_->file_name).parent_path());
  }
  crash("after_sync");
  fill_vote();
  if (settings_.verify) {
    read_back(settings_.folder / plan_->file_name, plan_->layout, *plan_->staging, stager_);
  }
}

void SaveJob::make_files() {
  files_made_ = true;
  if (settings_.rank == 0) {
    crash("before_index");
    make_index();
    crash("after_plan");
  }
  if (plan_->leads_file && !plan_->shard_file.structure.empty()) {
    write_structure(*fs_, settings_.folder / plan_->file_name, plan_->shard_file);
  }
  crash("after_structure");
}

void SaveJob::make_index() {
  manifest_ = plan_->manifest;
  manifest_.step = ticket_->step;
  manifest_.uuid = settings_.uuid;
  manifest_.lineage = settings_.lineage;
  const auto path = settings_.folder / "index.h5";
  write_structure(*fs_, path, plan_->index.content.file);
  write_fields(*fs_, settings_.folder, manifest_, settings_.texts);
  File(*fs_, path, O_WRONLY).sync();
  crash("after_index");
  write_text_durably(*fs_, settings_.folder / "plan.json", to_json(manifest_));
  sync_directory(*fs_, settings_.directory);
}

void SaveJob::move_data(ShardGate& gate) {
  SavePipeline pipeline(*plan_->staging, stager_, ring_, gate, *ticket_);
  pipeline.run(
      [this] {
        ticket_->advance(SavePhase::staged);
        crash("after_staging");
      },
      [this] { crash("during_write"); });
}

void SaveJob::fill_vote() {
  ItemDigests digests = stager_.digests();
  vote_.crc32c = std::move(digests.whole);
  vote_.parts_crc32c = std::move(digests.parts);
  const SaveTimes times = SaveTicket(ticket_).times();
  vote_.timing = {settings_.rank,
                  microseconds(SaveTicket(ticket_).stall_seconds()),
                  microseconds(times.staged),
                  microseconds(times.written),
                  microseconds(ticket_->seconds()),
                  microseconds(stager_.seconds()),
                  static_cast<std::int64_t>(plan_->staging->bytes)};
}

void SaveJob::crash(const char* place) const { crash_point(place, settings_.rank); }

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
  ticket_->note(SavePhase::committed);  // deleting older ones is not part of it
  try {
    crash("before_retention");
    apply_retention(*fs_, settings_.directory, settings_.retention, manifest_);
    crash("after_retention");
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
