#include <cstdio>

#include "cli/commands.hpp"
#include "sherd/train/system_info.hpp"

namespace sherd::cli {

int run_info(const runtime::Runtime& runtime) {
  if (runtime.rank() == 0) {
    std::fputs(train::system_info(runtime.topology()).c_str(), stdout);
  }
  return 0;
}

}  // namespace sherd::cli
