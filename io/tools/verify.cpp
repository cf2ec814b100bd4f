#include <fmt/format.h>

#include "io/commit/folder.hpp"
#include "io/disk/damaged.hpp"
#include "io/disk/file_ops.hpp"
#include "io/format/manifest.hpp"
#include "io/tools/verify_apart.hpp"
#include "io/tools/verify_bytes.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::io {
namespace {

void note(VerifyReport& report, std::vector<VerifyProblem> problems) {
  for (VerifyProblem& problem : problems) {
    report.ok = false;
    report.unreadable = problem.unreadable && (report.problems.empty() || report.unreadable);
    report.problems.push_back(problem.text);
    report.details.push_back(std::move(problem));
  }
}

/// The whole folder goes out of sight first, by one rename.
bool was_removed(const std::filesystem::path& folder) {
  try {
    return !is_there(folder);
  } catch (const IoError&) {
    return false;
  }
}

}  // namespace

VerifyReport verify_checkpoint(const std::filesystem::path& step_folder,
                               const VerifyOptions& options) {
  VerifyReport report;
  try {
    const Manifest manifest = read_manifest(step_folder / "COMMITTED.json");
    if (const auto step = parse_step_name(step_folder.filename().string());
        step && *step != manifest.step) {
      note(report, {{.file = "COMMITTED.json",
                     .text = fmt::format("'{}' holds step {} (a copy, or renamed)",
                                         step_folder.filename().string(), manifest.step)}});
    }
    std::vector<bool> sound(manifest.files.size(), true);
    note(report, verify_bytes(step_folder, manifest, options, sound, report.bytes));
    if (sound.front()) {
      note(report, verify_index_apart(step_folder, manifest, sound));
    }
  } catch (const DamagedError& error) {
    note(report, {{.file = "COMMITTED.json", .text = error.what()}});
  } catch (const IoError& error) {
    note(report, {{.file = "COMMITTED.json", .unreadable = true, .text = error.what()}});
  }
  if (!report.ok && was_removed(step_folder)) {
    const std::uint64_t bytes = report.bytes;
    report = VerifyReport{};
    report.removed = true;
    report.bytes = bytes;
  }
  return report;
}

}  // namespace sherd::io
