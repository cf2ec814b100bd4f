#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

namespace sherd::config {

/// The documents of a YAML text of which one may say something.
struct OnlyDocument {
  YAML::Node node;      ///< null when none does
  int second_line = 0;  ///< where another begins that does, which would be dropped without a word
};

/// Throws YAML::Exception. Ends for every text.
[[nodiscard]] OnlyDocument only_document(const std::string& text);

/// What is wrong with the text, in words that say something.
[[nodiscard]] std::string reason_of(const YAML::Exception& error);

/// What is wrong with a text before it is parsed, "" when nothing is: yaml-cpp takes some control
/// characters for the end of a text and does not get past it.
[[nodiscard]] std::string problem_of_text(const std::string& text);

}  // namespace sherd::config
