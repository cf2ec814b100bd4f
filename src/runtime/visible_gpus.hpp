#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sherd/runtime/rank_facts.hpp"

namespace sherd::runtime {

/// The devices this process may use, in CUDA's order, with name, PCI bus id and UUID; none in a
/// build without CUDA, and where no driver answers or SHERD_DISABLE_CUDA is set. For tests,
/// SHERD_TEST_GPUS="0000:01:00.0,0000:02:00.0" is a node's list instead, of which
/// CUDA_VISIBLE_DEVICES="1" leaves the second.
[[nodiscard]] std::vector<Gpu> visible_gpus();

/// What CUDA says (cuda_gpus.cuda.cpp, or the stub beside it).
[[nodiscard]] std::vector<Gpu> cuda_gpus();

/// The list of SHERD_TEST_GPUS as CUDA_VISIBLE_DEVICES (null when not set) leaves it.
[[nodiscard]] std::vector<Gpu> gpus_for_tests(const std::string& list, const char* visible);

}  // namespace sherd::runtime
