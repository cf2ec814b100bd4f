#include <cstdio>

#include "cli/commands.hpp"
#include "cli/system_info.hpp"

namespace sherd::cli {

int run_info(const runtime::Runtime& runtime, const Request& request) {
  if (runtime.rank() == 0) {
    const runtime::Topology& topology = runtime.topology();
    const std::string text = request.json ? system_info_json(topology) : system_info(topology);
    std::fputs(text.c_str(), stdout);
  }
  return 0;
}

}  // namespace sherd::cli
