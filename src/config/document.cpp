// From YAML text and overrides to a flat list of entries with their origins.
#include "config/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "config/merge.hpp"
#include "config/only_document.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/regular_file.hpp"

namespace sherd::config {
namespace {

constexpr std::uint64_t kLargestConfig = std::uint64_t{1} << 20;
constexpr FilePurpose kConfigPurpose{"a run needs its configuration", "the path of a YAML file"};

YAML::Node parse(const std::filesystem::path& file) {
  const std::string text = read_small_file(file, kLargestConfig, kConfigPurpose);
  if (const std::string problem = problem_of_text(text); !problem.empty()) {
    throw ConfigError(fmt::format("{}: not readable as YAML: {}. Try: a text editor's file",
                                  file.string(), problem));
  }
  try {
    const OnlyDocument found = only_document(text);
    validate(found.second_line == 0, [&] {
      return fmt::format(
          "{}:{}: a second YAML document begins here (a run reads one, so its keys would have no "
          "effect). Try: without the --- before it, or a file of its own",
          file.string(), found.second_line);
    });
    return found.node;
  } catch (const YAML::Exception& error) {
    throw ConfigError(
        fmt::format("{}:{}: not readable as YAML: {}. Try: check the indentation and "
                    "the brackets near this line",
                    file.string(), error.mark.line + 1, reason_of(error)));
  }
}

/// Walks one document.
class Walker {
 public:
  Walker(const std::filesystem::path& file, const std::vector<std::string>& sections,
         Problems& problems)
      : file_(file.string()), sections_(sections), problems_(problems) {}

  ConfigDocument walk(const YAML::Node& root) {
    if (root.IsNull()) {
      return {};
    }
    if (!root.IsMap()) {
      problems_.add(at(root), "", "the file does not hold a map of sections", "",
                    "model:, data:, training: ... each with its keys below");
      return {};
    }
    walk_map(root, "");
    return std::move(document_);
  }

 private:
  [[nodiscard]] Origin at(const YAML::Node& node) const {
    const int line = node.Mark().line + 1;
    return {Origin::Kind::file, fmt::format("{}:{}", file_, line), line};
  }

  void walk_map(const YAML::Node& map, const std::string& prefix) {
    const auto report = [&](const YAML::Node& node, const std::string& key,
                            const std::string& problem, const std::string& why,
                            const std::string& suggestion) {
      const std::string path = prefix.empty() || key.empty() ? prefix + key : prefix + "." + key;
      problems_.add(at(node), path, problem, why, suggestion);
    };
    for (const MapEntry& entry : merged_entries(map, report)) {
      visit(prefix.empty() ? entry.name : prefix + "." + entry.name, prefix.empty(), entry.value,
            at(entry.key));
    }
  }

  void visit(const std::string& path, bool top, const YAML::Node& value, const Origin& origin) {
    if (top && path.starts_with("x-")) {  // there for others to merge
      return;
    }
    const bool section =
        top && std::find(sections_.begin(), sections_.end(), path) != sections_.end();
    if (!section) {
      document_.entries.push_back({path, value, origin});
      return;
    }
    document_.sections.emplace(path, origin);
    if (value.IsMap()) {
      walk_map(value, path);
    } else if (!value.IsNull()) {
      problems_.add(origin, path, "a section holds keys, not a value", "",
                    path + ": with its keys indented in the lines below");
    }
  }

  std::string file_;
  const std::vector<std::string>& sections_;
  Problems& problems_;
  ConfigDocument document_;
};

}  // namespace

ConfigDocument read_document(const std::filesystem::path& file,
                             const std::vector<std::string>& sections, Problems& problems) {
  return Walker(file, sections, problems).walk(parse(file));
}

void read_override(const std::string& text, ConfigEntries& entries, Problems& problems) {
  const Origin origin{Origin::Kind::command_line, "command line", 0};
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.add(origin, text, "not of the form key=value", "", "training.steps=20");
    return;
  }
  const std::string path = text.substr(0, equals);
  if (const std::string problem = problem_of_text(text); !problem.empty()) {
    problems.add(origin, path, problem, "", "key=value as text");
    return;
  }
  OnlyDocument value;
  try {
    value = only_document(text.substr(equals + 1));
  } catch (const YAML::Exception& error) {
    problems.add(origin, path, "the value is not readable as YAML: " + reason_of(error), "",
                 "quote the argument for the shell");
    return;
  }
  if (value.second_line != 0) {
    problems.add(origin, path, "the value holds a second YAML document", "only one could count",
                 "key=value for each");
    return;
  }
  entries.remove_if([&](const ConfigEntry& entry) { return entry.path == path; });
  entries.push_back({path, value.node, origin});
}

}  // namespace sherd::config
