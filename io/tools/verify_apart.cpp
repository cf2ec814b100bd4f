#include "io/tools/verify_apart.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "io/hdf5/write_api.hpp"
#include "io/tools/verify_index.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

Json json_of_problems(const std::vector<VerifyProblem>& problems) {
  Json list = Json::array();
  for (const VerifyProblem& problem : problems) {
    list.push_back({{"file", problem.file}, {"tensor", problem.tensor}, {"text", problem.text}});
  }
  return list;
}

/// What the child says; anything else is its death.
std::string answer_of(const std::filesystem::path& folder, const Manifest& manifest,
                      const std::vector<bool>& sound) {
  Json list;
  try {
    list = json_of_problems(verify_index(folder, manifest, sound));
  } catch (const std::exception& error) {
    list = json_of_problems({{.file = "index.h5", .text = error.what()}});
  }
  return list.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) {
      return;  // the parent sees an answer that is cut off
    }
    at += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return text;
    }
    text.append(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  }
}

[[noreturn]] void run_child(int out, const std::filesystem::path& folder, const Manifest& manifest,
                            const std::vector<bool>& sound) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  write_all(out, answer_of(folder, manifest, sound));
  ::_exit(0);  // nothing of the parent's is ended
}

std::string death_of(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

std::vector<VerifyProblem> problems_of(const std::string& answer, int status) {
  const Json list = Json::parse(answer, nullptr, false);
  if (!list.is_array()) {
    return {{.file = "index.h5",
             .text = fmt::format("'index.h5' cannot be read: HDF5 ends the process that reads it "
                                 "({})",
                                 death_of(status))}};
  }
  std::vector<VerifyProblem> problems;
  for (const Json& one : list) {
    problems.push_back({.file = one.at("file").get<std::string>(),
                        .tensor = one.at("tensor").get<std::string>(),
                        .text = one.at("text").get<std::string>()});
  }
  return problems;
}

}  // namespace

std::vector<VerifyProblem> verify_index_apart(const std::filesystem::path& folder,
                                              const Manifest& manifest,
                                              const std::vector<bool>& sound) {
  const hdf5::Section section;  // no other thread is inside HDF5 when the child begins
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) {
    return verify_index(folder, manifest, sound);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    run_child(pipe[1], folder, manifest, sound);
  }
  ::close(pipe[1]);
  const std::string answer = child > 0 ? read_to_end(pipe[0]) : "";
  ::close(pipe[0]);
  if (child < 0) {
    return verify_index(folder, manifest, sound);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return problems_of(answer, status);
}

}  // namespace sherd::io
