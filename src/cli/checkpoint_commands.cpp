#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "sherd/io/inspect.hpp"
#include "sherd/train/export.hpp"

namespace sherd::cli {
namespace {

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

std::string human(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024.0 && unit < 4; ++unit) {
    bytes /= 1024.0;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::uintmax_t folder_bytes(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
    std::error_code gone;
    bytes += item.is_regular_file() ? item.file_size(gone) : 0;
  }
  return bytes;
}

int list(const std::string& directory) {
  const auto found = io::list_checkpoints(directory);
  if (found.empty()) {
    print(fmt::format("no checkpoints in {}\n", directory));
    return 0;
  }
  print(fmt::format("{:>10}  {:<10}  {:>10}  {}\n", "step", "state", "size", "path"));
  for (const io::CheckpointInfo& info : found) {
    const char* state = info.committed ? "committed" : "incomplete";
    print(fmt::format("{:>10}  {:<10}  {:>10}  {}\n", info.step, state,
                      human(static_cast<double>(folder_bytes(info.path))), info.path.string()));
  }
  return 0;
}

int show(const std::filesystem::path& step_folder) {
  const io::CheckpointReader checkpoint(step_folder);
  print(fmt::format("{}\nstep {}, written by {} rank{}\n", step_folder.string(), checkpoint.step(),
                    checkpoint.world_size(), checkpoint.world_size() == 1 ? "" : "s"));
  std::size_t width = 4;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    width = std::max(width, info.key.size());
  }
  double bytes = 0;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    std::string aliases;
    for (const std::string& alias : info.aliases) {
      aliases += " = " + alias;
    }
    print(fmt::format("  {:<{}}  {:<4}  {}{}\n", info.key, width, to_string(info.dtype),
                      info.shape.to_string(), aliases));
    bytes += static_cast<double>(info.shape.numel()) * static_cast<double>(size_of(info.dtype));
  }
  print(fmt::format("{} tensors, {}\n", checkpoint.tensors().size(), human(bytes)));
  return 0;
}

int verify(const std::filesystem::path& step_folder) {
  const io::VerifyReport report = io::verify_checkpoint(step_folder);
  for (const std::string& problem : report.problems) {
    print(problem + "\n");
  }
  print(fmt::format("{}: {} ({} read)\n", step_folder.string(), report.ok ? "good" : "DAMAGED",
                    human(static_cast<double>(report.bytes))));
  return report.ok ? 0 : 1;
}

int export_model(const std::filesystem::path& step_folder, const Request& request) {
  const io::CheckpointReader checkpoint(step_folder);
  constexpr double kGigabyte = 1e9;
  train::export_safetensors(
      checkpoint, request.folder,
      {parse_dtype(request.dtype), static_cast<std::size_t>(request.file_gigabytes * kGigabyte)});
  print(fmt::format("wrote {} from step {}\n", request.folder, checkpoint.step()));
  return 0;
}

}  // namespace

int run_checkpoint(const Request& request) {
  if (request.command == Command::checkpoint_ls) {
    return list(request.checkpoint);
  }
  const auto step_folder = io::resolve_checkpoint(request.checkpoint);
  switch (request.command) {
    case Command::checkpoint_show:
      return show(step_folder);
    case Command::checkpoint_verify:
      return verify(step_folder);
    default:
      return export_model(step_folder, request);
  }
}

}  // namespace sherd::cli
