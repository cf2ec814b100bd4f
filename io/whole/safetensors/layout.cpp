#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>

#include "io/whole/safetensors/element_type.hpp"
#include "io/whole/safetensors/header.hpp"
#include "sherd/base/check.hpp"

namespace sherd::io {

std::vector<std::size_t> safetensors_order(const std::vector<SafetensorsField>& fields) {
  std::vector<std::size_t> order(fields.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t width_a = size_of(fields[a].dtype);
    const std::size_t width_b = size_of(fields[b].dtype);
    return width_a != width_b ? width_a > width_b : fields[a].name < fields[b].name;
  });
  return order;
}

std::string make_safetensors_header(std::vector<SafetensorsField>& fields,
                                    const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json;
  json["__metadata__"] = metadata;
  json["__metadata__"]["format"] = "pt";
  // The members as the list they are: json[name] would search all of them for each.
  auto& members = json.get_ref<nlohmann::ordered_json::object_t&>();
  std::unordered_set<std::string> names{"__metadata__"};
  std::uint64_t end = 0;
  for (SafetensorsField& field : fields) {
    std::string name(field.name);
    expect(names.insert(name).second, "two tensors of one name");
    field.data_offset = end;
    end += static_cast<std::uint64_t>(field.shape->numel()) * size_of(field.dtype);
    members.push_back({std::move(name),
                       {{"dtype", std::string(safetensors_name(field.dtype))},
                        {"shape", field.shape->extents()},
                        {"data_offsets", {field.data_offset, end}}}});
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string header(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    header[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFFU);
  }
  return header + text;
}

}  // namespace sherd::io
