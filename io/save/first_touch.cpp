#include "io/save/first_touch.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <system_error>

#include "io/disk/background_priority.hpp"
#include "io/disk/page.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::io {
namespace {

/// A large page: what end() may have to wait for.
constexpr std::size_t kPieceToTouch = std::size_t{2} << 20;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

/// Older systems are asked page by page.
void touch_piece(std::byte* at, std::size_t bytes) noexcept {
  if (::madvise(at, bytes, MADV_POPULATE_WRITE) == 0) {
    return;
  }
  for (std::size_t page = 0; page < bytes; page += kPage) {
    *static_cast<volatile std::byte*>(at + page) = std::byte{0};
  }
}

}  // namespace

void FirstTouch::touch(std::span<std::byte> memory) const noexcept {
  runtime::leave_the_team();
  take_background_priority();
  for (std::size_t at = 0; at < memory.size() && !stop_; at += kPieceToTouch) {
    touch_piece(memory.data() + at, std::min(kPieceToTouch, memory.size() - at));
  }
}

void FirstTouch::begin(std::span<std::byte> memory) {
  end();
  stop_ = false;
  try {
    thread_ = std::thread([this, memory] { touch(memory); });
  } catch (const std::system_error&) {  // no thread to be had: at the first use, then
  }
}

void FirstTouch::end() noexcept {
  stop_ = true;
  wait();
}

void FirstTouch::wait() noexcept {
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace sherd::io
