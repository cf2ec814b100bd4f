// Engine: after an error.
#include <exception>
#include <string>

#include "fsdp/engine.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

namespace sherd::fsdp {
namespace {

/// Whether the exception in flight says that other ranks cannot be reached.
bool others_are_lost() noexcept {
  try {
    throw;
  } catch (const CommError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

/// After an error: every group is given back and no gradient is left. What was issued is brought to
/// its end, which takes no more of other ranks than they do on their way to where this one is. Not
/// when they are lost: each wait for them would last as long as the one that failed.
void Engine::recover() noexcept {
  if (others_are_lost()) {
    return;
  }
  try {
    for (std::size_t g = 0; g < set_.groups.size(); ++g) {
      drop_gradient_buffers(g);
      running_[g] = 0;
      pending_uses_[g] = 0;
    }
    reducer_->finish_all();
    zero_grad();
    reshard_all();
    for (std::size_t g = 0; g < set_.groups.size(); ++g) {
      if (issued_[g]) {
        store_->reshard(g);
        issued_[g] = false;
      }
    }
    store_->finish();
  } catch (const std::exception& error) {
    log::info(std::string("after an error, giving the groups back failed too: ") + error.what());
  }
}

}  // namespace sherd::fsdp
