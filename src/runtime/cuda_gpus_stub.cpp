#include "runtime/visible_gpus.hpp"

namespace sherd::runtime {

std::vector<Gpu> cuda_gpus() { return {}; }

}  // namespace sherd::runtime
