#include "runtime/visible_gpus.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

namespace sherd::runtime {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::vector<Gpu> gpus_for_tests(const std::string& list, const char* visible) {
  std::vector<Gpu> node;
  for (const std::string& pci : split(list)) {
    node.push_back({"test device", pci, fmt::format("GPU-test-{}", pci), -1});
  }
  if (visible == nullptr) {
    return node;
  }
  std::vector<Gpu> seen;
  for (const std::string& index : split(visible)) {
    const auto at = static_cast<std::size_t>(std::strtoul(index.c_str(), nullptr, 10));
    if (at >= node.size()) {
      break;  // as CUDA does: what follows a wrong index is not visible either
    }
    seen.push_back(node[at]);
  }
  return seen;
}

std::vector<Gpu> visible_gpus() {
  if (const char* list = std::getenv("SHERD_TEST_GPUS"); list != nullptr) {
    return gpus_for_tests(list, std::getenv("CUDA_VISIBLE_DEVICES"));
  }
  return std::getenv("SHERD_DISABLE_CUDA") != nullptr ? std::vector<Gpu>() : cuda_gpus();
}

}  // namespace sherd::runtime
