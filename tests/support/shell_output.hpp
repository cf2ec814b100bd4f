#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace sherd::test {

struct ShellOutput {
  int status = -1;   ///< as waitpid() has it: 0 is exit code 0
  std::string text;  ///< both standard streams
};

/// Runs a command of the shell to its end.
inline ShellOutput shell_output(const std::string& command) {
  ShellOutput output;
  std::FILE* pipe = ::popen(("(" + command + ") 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), got);
  }
  output.status = ::pclose(pipe);
  return output;
}

}  // namespace sherd::test
