#include <nlohmann/json.hpp>

#include "sherd/io/load_options.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

Json json_of(const std::vector<TensorMismatch>& pairs) {
  Json list = Json::array();
  for (const TensorMismatch& pair : pairs) {
    list.push_back({{"key", pair.key}, {"stored", pair.stored}, {"wanted", pair.wanted}});
  }
  return list;
}

}  // namespace

std::string LoadReport::to_json() const {
  const Json json = {{"step", step},
                     {"path", path.string()},
                     {"notes", notes},
                     {"missing", missing},
                     {"unexpected", unexpected},
                     {"mismatched", json_of(mismatched)},
                     {"cast", json_of(cast)},
                     {"saved_by_ranks", saved_by_ranks},
                     {"bytes_read", bytes_read},
                     {"seconds", seconds}};
  return json.dump(1);
}

}  // namespace sherd::io
