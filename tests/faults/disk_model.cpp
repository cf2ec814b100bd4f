#include "faults/disk_model.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sherd::faults {

std::vector<LoggedOperation> read_log(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::vector<LoggedOperation> operations;
  for (std::size_t at = 0; at < text.size();) {
    LoggedOperation next;
    std::memcpy(&next.header, text.data() + at, sizeof next.header);
    at += sizeof next.header;
    const auto take = [&](std::uint64_t bytes) {
      const std::string part = text.substr(at, bytes);
      at += bytes;
      return part;
    };
    next.path = take(next.header.path_bytes);
    next.other = take(next.header.other_bytes);
    next.data = take(next.header.data_bytes);
    operations.push_back(std::move(next));
  }
  return operations;
}

DiskModel::DiskModel(std::uint64_t root_inode) {
  nodes_.emplace_back();  // id 0 stands for nothing
  (void)make(root_inode, true);
}

DiskModel::Id DiskModel::make(std::uint64_t inode, bool folder) {
  nodes_.emplace_back();
  nodes_.back().folder = folder;
  by_inode_[inode] = nodes_.size() - 1;  // numbers of deleted files are used again
  return nodes_.size() - 1;
}

DiskModel::Place DiskModel::find(const std::string& path) const {
  Place place{1, path};
  for (std::size_t slash; (slash = place.name.find('/')) != std::string::npos;) {
    place.folder = nodes_.at(place.folder).names.at(place.name.substr(0, slash));
    place.name = place.name.substr(slash + 1);
  }
  return place;
}

DiskModel::Id DiskModel::at(const Place& place) const {
  return nodes_.at(place.folder).names.at(place.name);
}

void DiskModel::set(Id folder, const std::vector<std::pair<std::string, Id>>& names) {
  Node& node = nodes_.at(folder);
  for (const auto& [name, id] : names) {
    if (id == 0) {
      node.names.erase(name);
    } else {
      node.names[name] = id;
    }
  }
  node.renames.push_back(names);
}

void DiskModel::apply(std::string& data, const Change& change, double part) {
  if (change.data.empty()) {
    data.resize(change.offset, '\0');
    return;
  }
  const auto bytes = static_cast<std::size_t>(static_cast<double>(change.data.size()) * part);
  data.resize(std::max<std::size_t>(data.size(), change.offset + bytes), '\0');
  data.replace(change.offset, bytes, change.data, 0, bytes);
}

void DiskModel::apply(const LoggedOperation& operation) {
  const OperationHeader& header = operation.header;
  switch (header.operation) {
    case Operation::note:
      return;
    case Operation::create:
    case Operation::mkdir: {
      const Place place = find(operation.path);
      set(place.folder, {{place.name, make(header.inode, header.operation == Operation::mkdir)}});
      return;
    }
    case Operation::write:
    case Operation::truncate: {
      Node& node = nodes_.at(by_inode_.at(header.inode));
      const Change change{header.offset, operation.data};
      apply(node.data, change);
      node.changes.push_back(change);
      return;
    }
    case Operation::sync: {
      Node& node = nodes_.at(by_inode_.at(header.inode));
      node.synced_data = node.data;
      node.changes.clear();
      node.synced_names = node.names;
      node.renames.clear();
      return;
    }
    case Operation::rename:
    case Operation::exchange: {
      const Place from = find(operation.path);
      const Place to = find(operation.other);
      if (from.folder != to.folder) {
        throw std::logic_error("a rename between folders: not modelled");
      }
      const Id other = header.operation == Operation::exchange ? at(to) : 0;
      set(from.folder, {{from.name, other}, {to.name, at(from)}});
      return;
    }
    case Operation::unlink:
    case Operation::remove_dir: {
      const Place place = find(operation.path);
      if (header.operation == Operation::remove_dir && !nodes_.at(at(place)).names.empty()) {
        throw std::logic_error("a folder removed that is not empty: " + operation.path);
      }
      set(place.folder, {{place.name, 0}});
      return;
    }
  }
}

template <typename NamesOf, typename DataOf>
void DiskModel::collect(Id id, const std::string& prefix, const NamesOf& names_of,
                        const DataOf& data_of, DiskImage& image) const {
  for (const auto& [name, child] : names_of(nodes_.at(id))) {
    const Node& node = nodes_.at(child);
    if (node.folder) {
      image[prefix + name + "/"] = "";
      collect(child, prefix + name + "/", names_of, data_of, image);
    } else {
      image[prefix + name] = data_of(node);
    }
  }
}

DiskImage DiskModel::everything() const {
  DiskImage image;
  collect(
      1, "", [](const Node& node) { return node.names; },
      [](const Node& node) { return node.data; }, image);
  return image;
}

DiskImage DiskModel::synced() const {
  DiskImage image;
  collect(
      1, "", [](const Node& node) { return node.synced_names; },
      [](const Node& node) { return node.synced_data; }, image);
  return image;
}

DiskImage DiskModel::partly_synced(std::mt19937_64& random) const {
  DiskImage image;
  collect(
      1, "",
      [&](const Node& node) {
        Names names = node.synced_names;
        for (const auto& assignments : node.renames) {
          if (random() % 2 == 0) {
            continue;
          }
          for (const auto& [name, id] : assignments) {
            if (id == 0) {
              names.erase(name);
            } else {
              names[name] = id;
            }
          }
        }
        return names;
      },
      [&](const Node& node) {
        std::string data = node.synced_data;
        for (const Change& change : node.changes) {
          if (const auto chance = random() % 4; chance > 0) {
            apply(data, change, chance == 1 ? 0.5 : 1.0);
          }
        }
        return data;
      },
      image);
  return image;
}

void write_image(const DiskImage& image, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [path, data] : image) {  // a folder sorts before what is in it
    if (path.back() == '/') {
      std::filesystem::create_directory(folder / path);
    } else {
      std::ofstream(folder / path, std::ios::binary) << data;
    }
  }
}

}  // namespace sherd::faults
