#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace sherd::train {

/// Bytes alive while operations are gone through one by one, and where they were most.
class ActivationLedger {
 public:
  void enter(std::string place) { place_ = std::move(place); }
  /// `bytes` come into being and stay.
  void hold(std::size_t bytes) {
    live_ += bytes;
    note(live_);
  }
  void drop(std::size_t bytes) { live_ -= bytes; }
  /// An operation uses `bytes` for itself while it runs.
  void use(std::size_t bytes) { note(live_ + bytes); }

  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }
  [[nodiscard]] const std::string& peak_at() const noexcept { return peak_at_; }

 private:
  void note(std::size_t bytes) {
    if (bytes > peak_) {
      peak_ = bytes;
      peak_at_ = place_;
    }
  }

  std::size_t live_ = 0;
  std::size_t peak_ = 0;
  std::string place_;
  std::string peak_at_;
};

}  // namespace sherd::train
