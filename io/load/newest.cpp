// The newest good checkpoint: every rank must see the same ones, and damage is seen by two.
#include "io/load/newest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <thread>

#include "io/commit/committed.hpp"
#include "io/commit/folder.hpp"
#include "io/load/damage.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/host_name.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

/// How long a node's cached view of the directory may lag behind.
constexpr int kLooks = 50;
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
/// How often one checkpoint is read when only one rank finds it damaged.
constexpr int kReadings = 3;

class NewestLoad {
 public:
  NewestLoad(const LoadRanks& ranks, FileSystem& fs, const fs_std::path& directory,
             dtensor::StateDict& state, const LoadOptions& options, LoadReport& report)
      : ranks_(ranks),
        all_(ranks.all),
        fs_(fs),
        directory_(directory),
        state_(state),
        options_(options),
        report_(report) {}

  std::optional<LoadedFrom> run() {
    agree_on_names();
    for (const fs_std::path& folder : candidates()) {
      if (auto loaded = try_readable(folder)) {
        return loaded;
      }
    }
    require_nothing_left();
    return std::nullopt;
  }

 private:
  /// Collective: until all ranks see the same step folders. A node whose mount is missing sees
  /// none, and must neither start anew nor have its word taken.
  void agree_on_names() {
    std::string mine;
    for (int look = 0; look < kLooks; ++look) {
      comm::all_or_none(all_, [&] { mine = names_here(); });
      if (comm::same_on_all(all_, mine)) {
        return;
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
    std::string of_zero = mine;
    comm::broadcast_text(all_, of_zero);
    std::string host = host_name();
    comm::broadcast_text(all_, host);
    const auto other = comm::first_text(
        all_, of_zero == mine
                  ? std::nullopt
                  : std::optional(fmt::format("on {} sees {}", host_name(), listed(mine))));
    throw IoError(fmt::format(
        "the ranks see different checkpoints in '{}': rank {} {}, rank 0 on {} sees {} (a mount "
        "that is missing on one of the hosts; nothing was changed). Try: a directory that all "
        "hosts see",
        directory_.string(), other->rank, other->text, host, listed(of_zero)));
  }

  std::string names_here() const {
    try {
      return committed_names(directory_);
    } catch (const IoError& error) {
      throw IoError(fmt::format("on {}: {}", host_name(), error.what()));
    }
  }

  static std::string listed(std::string names) {
    if (names.empty()) {
      return "none";
    }
    names.pop_back();
    for (std::size_t at = 0; (at = names.find('\n', at)) != std::string::npos; at += 2) {
      names.replace(at, 1, ", ");
    }
    return names;
  }

  /// Collective: rank 0 reads the manifests for all.
  std::vector<fs_std::path> candidates() {
    std::string names;
    std::string notes;
    comm::all_or_none(all_, [&] {
      if (all_.rank() == 0) {
        const Candidates chosen = choose_candidates(read_committed(directory_));
        for (const Committed& folder : chosen.tried) {
          names += folder.path.filename().string() + "\n";
        }
        notes = fmt::format("{}", fmt::join(chosen.notes, "\n"));
      }
    });
    comm::broadcast_text(all_, names);
    comm::broadcast_text(all_, notes);
    append_lines(notes, report_.notes);
    std::vector<std::string> lines;
    append_lines(names, lines);
    std::vector<fs_std::path> folders;
    for (const std::string& line : lines) {
      folders.push_back(directory_ / line);
    }
    return folders;
  }

  static void append_lines(const std::string& text, std::vector<std::string>& lines) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }

  std::optional<LoadedFrom> try_readable(const fs_std::path& folder) {
    try {
      return try_folder(folder);
    } catch (const IoError& error) {
      if (!options_.older_if_unreadable) {
        throw IoError(fmt::format(
            "{} (an older checkpoint is not taken unasked, for it would lose steps that may still "
            "be there; nothing was changed)",
            error.what()));
      }
      left_.push_back(fmt::format("'{}' cannot be read and was passed over: {}",
                                  folder.filename().string(), error.what()));
      report_.notes.push_back(left_.back());
      return std::nullopt;
    }
  }

  /// Collective: the same error or result on all ranks.
  std::optional<LoadedFrom> try_folder(const fs_std::path& folder) {
    std::string doubt;
    for (int reading = 0; reading < kReadings; ++reading) {
      LoadedFrom loaded;
      const auto damage = try_load(ranks_, folder, state_, options_, report_, loaded);
      if (!damage) {
        return loaded;
      }
      const auto only_one = read_again(all_, folder, *damage);
      if (!only_one) {
        put_aside(folder, damage->text);
        return std::nullopt;
      }
      doubt = *only_one;
      report_.notes.push_back(doubt + ": read once more");
    }
    throw IoError(doubt +
                  ", again and again (memory, bus or mount of that host). Try: a job without it");
  }

  /// Collective.
  void put_aside(const fs_std::path& folder, const std::string& damage) {
    std::string now;
    comm::all_or_none(all_, [&] {
      if (all_.rank() == 0) {
        now = set_aside(fs_, folder).filename().string();
      }
    });
    comm::broadcast_text(all_, now);
    left_.push_back(fmt::format("'{}' is damaged and was set aside as '{}': {}",
                                folder.filename().string(), now, damage));
    report_.notes.push_back(left_.back());
  }

  /// Collective: a run that starts anew where there were checkpoints is a run lost.
  void require_nothing_left() {
    if (!left_.empty()) {
      throw IoError(fmt::format(
          "all checkpoints in '{}' are damaged or cannot be read (training would silently start "
          "anew): {}",
          directory_.string(), fmt::join(left_, "\n")));
    }
    std::optional<std::string> remains;
    comm::all_or_none(all_, [&] {
      const std::vector<std::string> names = remains_of_checkpoints(directory_);
      if (!names.empty()) {
        remains = fmt::format("{}", fmt::join(names, ", "));
      }
    });
    if (const auto found = comm::first_text(all_, remains)) {
      throw IoError(fmt::format(
          "'{}' holds no checkpoint that can be resumed, but what is left of some: {} (training "
          "would silently start anew). Try: sherd ckpt verify on them, and renaming a good one to "
          "step-N; or another checkpoint directory",
          directory_.string(), found->text));
    }
  }

  const LoadRanks& ranks_;
  const comm::Ranks& all_;
  FileSystem& fs_;
  const fs_std::path& directory_;
  dtensor::StateDict& state_;
  const LoadOptions& options_;
  LoadReport& report_;
  std::vector<std::string> left_;  ///< one line for each checkpoint that was tried in vain
};

}  // namespace

std::optional<LoadedFrom> load_newest(const LoadRanks& ranks, FileSystem& fs,
                                      const fs_std::path& directory, dtensor::StateDict& state,
                                      const LoadOptions& options, LoadReport& report) {
  return NewestLoad(ranks, fs, directory, state, options, report).run();
}

}  // namespace sherd::io
