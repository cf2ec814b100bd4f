#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/checkpoint_commands.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/consolidate.hpp"
#include "sherd/io/inspect.hpp"
#include "sherd/weights/export.hpp"

namespace sherd::cli {
namespace {

using Json = nlohmann::json;

/// A copy of damaged data would look sound.
void require_sound(const std::filesystem::path& folder) {
  ProgressLine line("verifying");
  const io::VerifyReport report = io::verify_checkpoint(folder, {.progress = line.function()});
  if (!report.ok) {
    throw IoError(fmt::format("'{}' is damaged ({}). Try: an older checkpoint, or --no-verify",
                              folder.string(), report.problems.front()));
  }
}

}  // namespace

int consolidate(const Request& request) {
  const std::filesystem::path folder = step_folder(request.checkpoint);
  const std::filesystem::path file = request.ckpt.output;
  const std::filesystem::path parent = file.parent_path().empty() ? "." : file.parent_path();
  const auto there = std::filesystem::symlink_status(file).type();
  validate(
      std::filesystem::is_directory(parent) && !std::filesystem::is_directory(file),
      fmt::format("'{}' cannot be made: its folder does not exist, or it is one", file.string()));
  validate(there == std::filesystem::file_type::not_found ||
               there == std::filesystem::file_type::regular,
           fmt::format("'{}' cannot be made: a link, pipe or device of this name is there. Try: "
                       "another name",
                       file.string()));
  if (request.ckpt.verify) {
    require_sound(folder);
  }
  const io::CheckpointReader checkpoint(folder, {request.ckpt.verify});
  {
    ProgressLine line("writing");
    io::consolidate_checkpoint(checkpoint, file, line.function());
  }
  const std::uintmax_t bytes = std::filesystem::file_size(file);
  if (request.ckpt.json) {
    print(Json{{"path", folder.string()},
               {"step", checkpoint.step()},
               {"file", file.string()},
               {"bytes", bytes},
               {"tensors", checkpoint.tensors().size()}});
  } else {
    print(fmt::format("wrote {} from step {}: {} tensors, {}\n", file.string(), checkpoint.step(),
                      checkpoint.tensors().size(), human(static_cast<double>(bytes))));
  }
  return 0;
}

int export_model(const Request& request) {
  constexpr double kGigabyte = 1e9;
  const CheckpointOptions& options = request.ckpt;
  const io::CheckpointReader checkpoint(step_folder(request.checkpoint), {options.verify});
  weights::ExportOptions how;
  how.dtype = parse_dtype(options.dtype);
  how.file_bytes = static_cast<std::size_t>(options.file_gigabytes * kGigabyte);
  how.all = options.all;
  weights::export_safetensors(checkpoint, options.output, how);
  if (options.json) {
    print(Json{{"path", checkpoint.folder().string()},
               {"step", checkpoint.step()},
               {"folder", options.output},
               {"dtype", options.dtype}});
  } else {
    print(fmt::format("wrote {} from step {}\n", options.output, checkpoint.step()));
  }
  return 0;
}

}  // namespace sherd::cli
