#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/keys.hpp"

namespace sherd::config {
namespace {

/// A key's row in docs/config.md.
std::string row_of(const ConfigKey& key) {
  const bool preset_size = key.section() == "model";
  const nlohmann::json value = key.get(TrainConfig{});
  std::string text = "not set";
  if (key.required) {
    text = "required";
  } else if (!value.is_null()) {
    text = fmt::format("`{}`", value.dump());
  }
  if (preset_size && !value.is_null()) {
    text += ", or as the preset says";
  }
  return fmt::format("| `{}` | {} | {} | {} |", key.path, text, to_string(key.on_resume),
                     key.meaning);
}

TEST(DocumentedKeys, EveryKeyIsInTheTableWithItsDefault) {
  std::ifstream in(std::string(SHERD_TEST_DATA) + "/../../docs/config.md");
  std::ostringstream text;
  text << in.rdbuf();
  std::string rows;
  bool all = true;
  for (const ConfigKey& key : config_keys()) {
    const std::string row = row_of(key);
    rows.append(row).append("\n");
    all = all && text.str().find(row) != std::string::npos;
  }
  EXPECT_TRUE(all) << "docs/config.md should hold these rows:\n" << rows;
}

}  // namespace
}  // namespace sherd::config
