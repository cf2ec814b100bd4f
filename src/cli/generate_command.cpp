#include <cstdio>

#include "cli/checkpoint_commands.hpp"
#include "cli/commands.hpp"
#include "sherd/base/check.hpp"
#include "sherd/io/inspect.hpp"
#include "sherd/weights/generate.hpp"

namespace sherd::cli {

int run_generate(const runtime::Runtime& runtime, const Request& request) {
  validate(runtime.size() == 1, "generate runs on one process. Try: without mpirun");
  const io::CheckpointReader checkpoint(step_folder(request.checkpoint), {request.ckpt.verify});
  weights::require_byte_model(checkpoint);
  const auto model = weights::load_model(checkpoint);
  std::fputs(request.prompt.c_str(), stdout);
  std::fflush(stdout);
  weights::generate(model, request.prompt, {request.max_tokens, request.temperature, request.seed},
                    [](char c) {
                      std::fputc(c, stdout);
                      std::fflush(stdout);
                    });
  std::fputc('\n', stdout);
  return 0;
}

}  // namespace sherd::cli
