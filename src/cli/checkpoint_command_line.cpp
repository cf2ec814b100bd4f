#include "cli/checkpoint_command_line.hpp"

#include <string>

namespace sherd::cli {
namespace {

constexpr const char* kStep = "Step folder, or directory of checkpoints (its newest)";

/// One `sherd ckpt` command.
struct Sub {
  const char* name;
  const char* help;
  const char* argument;
  const char* argument_help;
  Command command;
};

void add_no_verify(CLI::App& app, CheckpointOptions& options) {
  app.add_flag_callback(
      "--no-verify", [&options] { options.verify = false; },
      "Do not compare what is read with its digests");
}

CLI::App& add(CLI::App& ckpt, Request& request, const Sub& sub) {
  auto* app = ckpt.add_subcommand(sub.name, sub.help);
  app->add_option("checkpoint", request.checkpoint, sub.argument_help)
      ->required()
      ->option_text(sub.argument);
  app->add_flag("--json", request.ckpt.json, "One JSON document instead of text");
  app->callback([&request, command = sub.command] { request.command = command; });
  return *app;
}

void add_looking(CLI::App& ckpt, Request& request) {
  CheckpointOptions& options = request.ckpt;
  add(ckpt, request,
      {"ls", "List what is in a directory of checkpoints", "DIRECTORY", "Directory of checkpoints",
       Command::checkpoint_ls});
  auto& show = add(ckpt, request,
                   {"show", "List what a checkpoint holds, and how saving it went", "CHECKPOINT",
                    kStep, Command::checkpoint_show});
  show.add_option("--tensor", options.tensor, "Its pieces, and least, largest and mean element")
      ->option_text("KEY");
  add_no_verify(show, options);
  auto& verify = add(ckpt, request,
                     {"verify",
                      "Read all of it, compare the digests, look at the index; exit code 1 when "
                      "damaged",
                      "CHECKPOINT", "Step folder, or directory of checkpoints (all of them)",
                      Command::checkpoint_verify});
  verify.add_option("--threads", options.threads, "That read (0: by the cores, at most 8)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  auto& diff = add(ckpt, request,
                   {"diff", "Compare the tensors of two checkpoints; exit code 1 when they differ",
                    "A", kStep, Command::checkpoint_diff});
  diff.add_option("other", options.other, kStep)->required()->option_text("B");
  diff.add_option("--tolerance", options.tolerance,
                  "Elements closer than this are equal (default: the same bits)")
      ->check(CLI::NonNegativeNumber);
  add_no_verify(diff, options);
}

void add_writing(CLI::App& ckpt, Request& request) {
  CheckpointOptions& options = request.ckpt;
  auto& whole = add(ckpt, request,
                    {"consolidate", "Write one HDF5 file of whole, contiguous tensors",
                     "CHECKPOINT", kStep, Command::checkpoint_consolidate});
  whole.add_option("-o,--output", options.output, "File to write")
      ->required()
      ->option_text("FILE.h5");
  add_no_verify(whole, options);
  auto& out = add(ckpt, request,
                  {"export", "Write the model as a Hugging Face folder", "CHECKPOINT", kStep,
                   Command::checkpoint_export});
  out.add_option("--safetensors", options.output, "Folder to write")
      ->required()
      ->option_text("FOLDER");
  out.add_option("--dtype", options.dtype, "Of the weights")
      ->capture_default_str()
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  out.add_option("--file-gigabytes", options.file_gigabytes, "Start another file beyond")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_no_verify(out, options);
  out.add_flag("--all", options.all, "Optimizer state and all else, too, in FOLDER/state");
}

}  // namespace

void add_checkpoints(CLI::App& app, Request& request) {
  auto* ckpt = app.add_subcommand("ckpt", "Look at checkpoints; needs no MPI");
  ckpt->require_subcommand(1);
  add_looking(*ckpt, request);
  add_writing(*ckpt, request);
}

}  // namespace sherd::cli
