// From keys of a state to paths of HDF5 links.
#include "io/format/link_path.hpp"

#include <fmt/format.h>

#include "io/hdf5/write_api.hpp"

namespace sherd::io {

std::string link_path(std::string_view key) {
  std::string path;
  while (true) {
    const auto dot = key.find('.');
    const std::string_view part = key.substr(0, dot);
    path += part.empty() ? "/%00" : "/";
    for (const char c : part) {
      if (c == '/' || c == '%') {
        path += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
      } else {
        path += c;
      }
    }
    if (dot == std::string_view::npos) {
      return path;
    }
    key.remove_prefix(dot + 1);
  }
}

std::string key_of_path(std::string_view path) {
  std::string key;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const std::string_view code = path.substr(i, 3);
    if (path[i] == '/') {
      key += '.';
    } else if (code == "%2F" || code == "%25" || code == "%00") {
      key += code == "%2F" ? "/" : (code == "%25" ? "%" : "");
      i += 2;
    } else {
      key += path[i];
    }
  }
  return key;
}

std::string rank_group(int rank) { return fmt::format("/rank-{:05}", rank); }

void GroupTree::make_parents(const std::string& link) {
  for (auto slash = link.find('/', 1); slash != std::string::npos;
       slash = link.find('/', slash + 1)) {
    const std::string group = link.substr(0, slash);
    if (made_.insert(group).second) {
      hdf5::create_group(file_, group);
    }
  }
}

}  // namespace sherd::io
