#pragma once

#include <utility>

namespace sherd {

/// Move-only owner of a C handle. `Traits` has `Raw`, `static Raw null()` and
/// `static void close(Raw) noexcept`; close() is called exactly once for each handle taken over.
template <class Traits>
class UniqueHandle {
 public:
  using Raw = typename Traits::Raw;

  UniqueHandle() noexcept : raw_(Traits::null()) {}
  explicit UniqueHandle(Raw raw) noexcept : raw_(raw) {}
  UniqueHandle(UniqueHandle&& other) noexcept : raw_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      reset(other.release());
    }
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  [[nodiscard]] Raw get() const noexcept { return raw_; }
  [[nodiscard]] explicit operator bool() const noexcept { return raw_ != Traits::null(); }
  [[nodiscard]] Raw release() noexcept { return std::exchange(raw_, Traits::null()); }

  void reset(Raw raw = Traits::null()) noexcept {
    Raw old = std::exchange(raw_, raw);
    if (old != Traits::null()) {
      Traits::close(old);
    }
  }

 private:
  Raw raw_;
};

}  // namespace sherd
