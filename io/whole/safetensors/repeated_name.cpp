#include "io/whole/safetensors/repeated_name.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace sherd::io {
namespace {

using Json = nlohmann::json;

/// Sees a text pass without building values. (A callback of Json::parse() sees the names too, but
/// the parser then searches all members of an object whenever one of them is complete.)
class NameWatcher : public nlohmann::json_sax<Json> {
 public:
  bool key(string_t& name) override {
    if (depth_ != 1 || names_.insert(name).second) {
      return true;
    }
    repeated_ = name;
    return false;
  }
  bool start_object(std::size_t /*elements*/) override { return enter(); }
  bool start_array(std::size_t /*elements*/) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

  [[nodiscard]] std::optional<std::string> repeated() && { return std::move(repeated_); }

 private:
  bool enter() {
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::size_t depth_ = 0;
  std::unordered_set<std::string> names_;
  std::optional<std::string> repeated_;
};

}  // namespace

std::optional<std::string> repeated_name(std::string_view json) {
  NameWatcher watcher;
  Json::sax_parse(json.begin(), json.end(), &watcher);
  return std::move(watcher).repeated();
}

}  // namespace sherd::io
