#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace sherd::models {

/// One config.json being read; every complaint names the file and the key, and is a ConfigError. A
/// key whose value is null counts as left out. Local.
class HfReader {
 public:
  using Json = nlohmann::ordered_json;

  HfReader(const std::string& text, std::string where);

  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  /// nullptr when it is left out.
  [[nodiscard]] const Json* find(const char* key) const;

  /// These read a member of the file, or of an object that stands in it under `prefix` ("key.").
  /// What is left out stays as it is.
  void whole(const char* key, std::int64_t& out, bool required = false) const;
  void whole(const Json& object, const std::string& prefix, const char* key,
             std::int64_t& out) const;
  void real(const char* key, double& out) const { real(json_, "", key, out); }
  void real(const Json& object, const std::string& prefix, const char* key, double& out) const;
  void flag(const char* key, bool& out) const;
  void must_be(const char* key, const std::string& wanted) const;

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

 private:
  std::string where_;
  Json json_;
};

}  // namespace sherd::models
