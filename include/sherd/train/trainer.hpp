#pragma once

#include "sherd/config/train_config.hpp"
#include "sherd/runtime/runtime.hpp"

namespace sherd::train {

/// Exit code of a run that a signal stopped early, after saving: run it again to go on.
inline constexpr int kStoppedEarly = 85;

/// Exit code of a run that took all its steps and left all their updates out (fp16 overflowed in
/// each): saved, but not trained.
inline constexpr int kNothingLearnt = 1;

/// Trains as configured: resumes from the newest good checkpoint, saves in the background, writes
/// metrics. Collective over all ranks of the launch; blocking. Returns the process's exit code: 0
/// when all steps are done, kStoppedEarly after SIGINT, SIGTERM or SIGUSR1, kNothingLearnt. Throws
/// ConfigError (on all ranks alike) for input that makes no sense, any other Error when a rank
/// fails.
[[nodiscard]] int run_training(runtime::Runtime& runtime, const config::TrainConfig& config);

}  // namespace sherd::train
