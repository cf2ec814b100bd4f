#include "io/commit/writer_mark.hpp"

#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "io/disk/file_ops.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

std::filesystem::path mark_path(const std::filesystem::path& folder) {
  return folder / "writer.json";
}

}  // namespace

void write_mark(FileSystem& fs, const std::filesystem::path& folder, const std::string& uuid) {
  const ProcessIdentity self = this_process();
  const Json json = {
      {"uuid", uuid},    {"host", self.host},       {"boot", self.boot},
      {"pid", self.pid}, {"started", self.started}, {"pid_namespace", self.pid_namespace}};
  const std::string text = json.dump() + "\n";
  const File file(fs, mark_path(folder), O_WRONLY | O_CREAT | O_TRUNC);
  file.write_at(std::as_bytes(std::span(text)), 0);
}

std::optional<ProcessIdentity> read_mark(const std::filesystem::path& folder,
                                         const std::string& uuid) {
  try {
    const Json json = parse_json<Json>(read_text(mark_path(folder)), "writer.json");
    if (json.at("uuid").get<std::string>() != uuid) {
      return std::nullopt;
    }
    return ProcessIdentity{json.at("host").get<std::string>(), json.at("boot").get<std::string>(),
                           json.at("pid").get<std::int64_t>(),
                           json.at("started").get<std::int64_t>(), json.value("pid_namespace", "")};
  } catch (const IoError&) {
    return std::nullopt;
  } catch (const ConfigError&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void remove_mark(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;
  std::filesystem::remove(mark_path(folder), ignored);
}

}  // namespace sherd::io
