// The files that a folder in data.text stands for.
#include "data/text_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>

#include "sherd/base/error.hpp"

namespace sherd::data {
namespace {

namespace fs = std::filesystem;

bool hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

[[noreturn]] void refuse_data_path(const fs::path& path, const std::string& problem,
                                   const std::string& suggestion) {
  throw ConfigError(
      fmt::format("{}: {} (it is training data). Try: {}", path.string(), problem, suggestion));
}

class FolderWalk {
 public:
  void walk(const fs::path& folder) {
    for (const fs::path& path : names_in(folder)) {
      std::error_code unknown;
      const fs::file_status status = fs::status(path, unknown);
      const bool folder_inside = fs::is_directory(status);
      if (!folder_inside && !fs::is_regular_file(status)) {
        refuse_data_path(path, unknown ? unknown.message() : "is neither a file nor a folder",
                         "without it in the folder, or with a dot before its name");
      }
      if (!is_new(path)) {
        continue;
      }
      if (folder_inside) {
        walk(path);
      } else {
        files_.push_back(path);
      }
    }
  }

  bool is_new(const fs::path& path) {
    std::error_code unknown;
    const fs::path real = fs::canonical(path, unknown);
    if (unknown) {
      refuse_data_path(path, unknown.message(), "a path that can be reached");
    }
    return met_.insert(real).second;
  }

  std::vector<fs::path> take() { return std::move(files_); }

 private:
  static std::vector<fs::path> names_in(const fs::path& folder) {
    std::error_code problem;
    std::vector<fs::path> names;
    for (fs::directory_iterator it(folder, problem), end; !problem && it != end;
         it.increment(problem)) {
      if (!hidden(it->path())) {
        names.push_back(it->path());
      }
    }
    if (problem) {
      refuse_data_path(folder, "cannot be read: " + problem.message(), "its permissions");
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::set<fs::path> met_;  // files and folders by their canonical paths
  std::vector<fs::path> files_;
};

}  // namespace

std::vector<fs::path> files_below(const fs::path& folder) {
  FolderWalk walk;
  (void)walk.is_new(folder);
  walk.walk(folder);
  std::vector<fs::path> files = walk.take();
  if (files.empty()) {
    refuse_data_path(folder, "holds no files", "a folder with text files");
  }
  return files;
}

}  // namespace sherd::data
