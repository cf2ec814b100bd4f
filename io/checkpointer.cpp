#include "sherd/io/checkpointer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "io/commit/folder.hpp"
#include "io/commit/lease.hpp"
#include "io/commit/leftovers.hpp"
#include "io/commit/owner_mark.hpp"
#include "io/commit/poll_until.hpp"
#include "io/disk/crash_point.hpp"
#include "io/disk/file_ops.hpp"
#include "io/disk/scratch_file.hpp"
#include "io/layout/host_state.hpp"
#include "io/load/newest.hpp"
#include "io/save/saver.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/host_name.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/agree.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;
using Clock = std::chrono::steady_clock;

/// How long a node's cached view of the directory may hide what rank 0 has made.
constexpr std::chrono::seconds kMarkPatience{5};

void check_options(const CheckpointerOptions& options) {
  validate(options.keep_last >= 0,
           fmt::format("keep_last is {}. Try: 0 (all) or at least 2", options.keep_last));
  validate(options.keep_last != 1,
           "keep_last is 1 (the only checkpoint would be deleted for one that may turn out bad). "
           "Try: 2 or more, or 0 to keep all");
  validate(!options.directory.empty(), "the checkpoint directory has no name");
  validate(options.commit_timeout_seconds > 0, "commit_timeout_seconds must be positive");
  validate(options.keep_every >= 0, "keep_every is negative. Try: 0 (none) or a number of steps");
  check_crash_point();
}

void check_writable(FileSystem& fs, const fs_std::path& directory) {
  try {
    fs_std::create_directories(directory);
    const fs_std::path probe = directory / (".probe-" + make_uuid());
    const ScratchFile guard(probe);
    write_text_durably(fs, probe, "sherd\n");
  } catch (const fs_std::filesystem_error& error) {
    throw ConfigError(fmt::format("checkpoint directory '{}' cannot be used: {}. Try: another one",
                                  directory.string(), error.code().message()));
  } catch (const IoError& error) {
    throw ConfigError(fmt::format("checkpoint directory '{}' cannot be used: {}",
                                  directory.string(), error.what()));
  }
}

std::string lines(const std::vector<std::string>& notes) {
  return fmt::format("{}", fmt::join(notes, "\n"));
}

void append_lines(const std::string& text, std::vector<std::string>& notes) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    notes.push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

struct Checkpointer::Impl {
  Impl(comm::MeshComms& comms, CheckpointerOptions chosen, std::shared_ptr<FileSystem> seam)
      : options(std::move(chosen)),
        fs(std::move(seam)),
        mesh(comms.mesh),
        world(comms.world->duplicate()),
        node(comms.local ? comms.local->duplicate() : nullptr),
        ranks{world.get(), &mesh},
        saver(ranks, options, fs) {
    open();
  }

  void open() {
    all_or_none(ranks, [&] { check_options(options); });
    validate(same_on_all(ranks, fs_std::absolute(options.directory).string()),
             fmt::format("ranks were given different checkpoint directories, here '{}' (one rank's "
                         "part would lie elsewhere). Try: the same path on all ranks",
                         options.directory.string()));
    all_or_none(ranks, [&] {
      if (ranks.rank() == 0) {
        check_writable(*fs, options.directory);
        lease = Lease::take(options.directory);
        saver.own(lease);
      }
    });
    see_the_mark();
  }

  /// Collective: every rank must see what rank 0 has written, or a part of each save would lie in a
  /// folder of a node's own and no checkpoint would be complete.
  void see_the_mark() {
    std::string uuid = lease ? lease->uuid() : "";
    broadcast_text(ranks, uuid);
    std::string host = host_name();
    broadcast_text(ranks, host);
    all_or_none(ranks, [&] {
      const bool seen = poll_until(kMarkPatience, [&] {
        const auto mark = look_at_mark(options.directory);
        return mark && mark->mark.uuid == uuid;
      });
      validate(seen,
               fmt::format("on {}: '{}' cannot be read: no such file, though rank 0 on {} has "
                           "just made it (a mount that is missing, or a directory of each "
                           "host's own; nothing was changed). Try: a directory that all hosts "
                           "share",
                           host_name(), owner_mark_path(options.directory).string(), host));
    });
  }

  /// Collective: returns once no rank has a save in flight, so that its folder may go.
  void finish_saves() {
    saver.finish();
    world->barrier();
  }

  /// Collective: rank 0 does `work`, which adds to `notes`; all ranks get its notes.
  void on_rank_zero(std::vector<std::string>& notes,
                    const std::function<void(std::vector<std::string>&)>& work) {
    std::vector<std::string> added;
    all_or_none(ranks, [&] {
      if (ranks.rank() == 0) {
        work(added);
      }
    });
    std::string text = lines(added);
    broadcast_text(ranks, text);
    append_lines(text, notes);
  }

  /// Rank 0: what is saved from now on continues the checkpoint that was loaded.
  void go_on_from(const LoadedFrom& loaded) {
    if (ranks.rank() == 0) {
      saver.go_on_from(loaded.lineage, loaded.step, loaded.uuid);
    }
  }

  [[nodiscard]] LoadRanks load_ranks() const { return {ranks, node.get()}; }

  /// Collective: the slowest rank's seconds since `start`.
  void finish_report(Clock::time_point start, LoadReport& report) {
    const std::chrono::duration<double> took = Clock::now() - start;
    report.seconds = took.count();
    world->all_reduce(&report.seconds, &report.seconds, 1, DType::f64, comm::ReduceOp::max).wait();
    warn(report);
  }

  void warn(const LoadReport& report) const {
    for (const std::string& note : report.notes) {
      if (ranks.rank() == 0) {
        log::warning("checkpoints: " + note);
      }
    }
  }

  CheckpointerOptions options;
  std::shared_ptr<FileSystem> fs;
  mesh::DeviceMesh mesh;
  std::unique_ptr<comm::Communicator> world;
  std::unique_ptr<comm::Communicator> node;  // null in a mesh made by hand
  comm::Ranks ranks;
  std::shared_ptr<Lease> lease;  // rank 0
  Saver saver;
};

Checkpointer::Checkpointer(comm::MeshComms& comms, CheckpointerOptions options)
    : Checkpointer(comms, std::move(options), posix_file_system()) {}

Checkpointer::Checkpointer(comm::MeshComms& comms, CheckpointerOptions options,
                           std::shared_ptr<FileSystem> file_system)
    : impl_(std::make_unique<Impl>(comms, std::move(options), std::move(file_system))) {}

Checkpointer::~Checkpointer() = default;

void Checkpointer::prepare(const dtensor::StateDict& state) { impl_->saver.prepare(state); }

SaveTicket Checkpointer::save_async(std::int64_t step, const dtensor::StateDict& state) {
  const SaveTicket ticket = impl_->saver.save(step, state);
  ticket.wait_staged();
  return ticket;
}

SaveTicket Checkpointer::save_lazily(std::int64_t step, const dtensor::StateDict& state) {
  return impl_->saver.save(step, state);
}

void Checkpointer::poll() { impl_->saver.poll(); }

SaveTicket Checkpointer::last() const { return impl_->saver.last(); }

std::optional<LoadReport> Checkpointer::load_latest(dtensor::StateDict& state,
                                                    const LoadOptions& options) {
  const Clock::time_point start = Clock::now();
  agree_on_load(impl_->ranks, state, options);
  impl_->finish_saves();
  HostCopies on_host(state);
  LoadReport report;
  impl_->on_rank_zero(report.notes, [&](std::vector<std::string>& notes) {
    notes = clean_up(*impl_->fs, impl_->options.directory);
  });
  const auto loaded = load_newest(impl_->load_ranks(), *impl_->fs, impl_->options.directory, state,
                                  options, report);
  if (!loaded) {
    impl_->warn(report);
    return std::nullopt;
  }
  impl_->go_on_from(*loaded);
  on_host.finish();
  impl_->finish_report(start, report);
  return report;
}

LoadReport Checkpointer::load(const fs_std::path& step_folder, dtensor::StateDict& state,
                              const LoadOptions& options) {
  const Clock::time_point start = Clock::now();
  validate(same_on_all(impl_->ranks, fs_std::absolute(step_folder).string()),
           fmt::format("ranks were told to load different checkpoints, here '{}'. Try: the same "
                       "path on all ranks",
                       step_folder.string()));
  agree_on_load(impl_->ranks, state, options);
  impl_->finish_saves();
  HostCopies on_host(state);
  LoadReport report;
  LoadedFrom loaded;
  if (const auto damage =
          try_load(impl_->load_ranks(), step_folder, state, options, report, loaded)) {
    throw IoError(
        fmt::format("checkpoint '{}' is damaged: {}", step_folder.string(), damage->text));
  }
  impl_->go_on_from(loaded);
  on_host.finish();
  impl_->finish_report(start, report);
  return report;
}

}  // namespace sherd::io
