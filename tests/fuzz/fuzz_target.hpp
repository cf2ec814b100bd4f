#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A fuzz target is a program of one reader: LLVMFuzzerTestOneInput, as libFuzzer calls it, and
/// fuzz_seeds, which mutation_run.cpp mutates where there is no libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Good inputs of the reader, from which most of it can be reached by few changes.
std::vector<std::string> fuzz_seeds();

namespace sherd::fuzz {

/// Calls `read`, which may throw what sherd throws. Anything else ends the program.
void read_or_refuse(const std::function<void()>& read);

/// A file in memory with a path by which any reader can open it.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const;

 private:
  int fd_;
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace sherd::fuzz
