#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "faults/operation_log.hpp"

/// A disk that knows what has been synced, fed with the operations of a log.
namespace sherd::faults {

struct LoggedOperation {
  OperationHeader header;
  std::string path;
  std::string other;
  std::string data;
};

[[nodiscard]] std::vector<LoggedOperation> read_log(const std::filesystem::path& file);

/// Relative path of each file to its content; folders end with '/'.
using DiskImage = std::map<std::string, std::string>;

class DiskModel {
 public:
  /// `root_inode` as the log names the root folder.
  explicit DiskModel(std::uint64_t root_inode);

  /// Throws std::logic_error when the operation makes no sense here.
  void apply(const LoggedOperation& operation);

  /// All that has been done: what a killed process leaves.
  [[nodiscard]] DiskImage everything() const;
  /// What a power loss is sure to leave: synced bytes under names of synced folders.
  [[nodiscard]] DiskImage synced() const;
  /// That, and by chance some of the rest: each later write whole, half or not at all, each later
  /// change of a folder or not.
  [[nodiscard]] DiskImage partly_synced(std::mt19937_64& random) const;

 private:
  using Id = std::size_t;
  struct Change {  ///< of a file's bytes; a size only when `data` is empty
    std::uint64_t offset = 0;
    std::string data;
  };
  using Names = std::map<std::string, Id>;
  struct Node {
    bool folder = false;
    std::string data;
    std::string synced_data;
    std::vector<Change> changes;  ///< since then
    Names names;
    Names synced_names;
    std::vector<std::vector<std::pair<std::string, Id>>> renames;  ///< since then; 0: gone
  };
  struct Place {
    Id folder = 0;
    std::string name;
  };

  [[nodiscard]] Id make(std::uint64_t inode, bool folder);
  [[nodiscard]] Place find(const std::string& path) const;
  [[nodiscard]] Id at(const Place& place) const;
  void set(Id folder, const std::vector<std::pair<std::string, Id>>& names);
  static void apply(std::string& data, const Change& change, double part = 1.0);
  template <typename NamesOf, typename DataOf>
  void collect(Id node, const std::string& prefix, const NamesOf& names_of, const DataOf& data_of,
               DiskImage& image) const;

  std::vector<Node> nodes_;
  std::map<std::uint64_t, Id> by_inode_;
};

/// Makes `folder`, which must not exist, look like the image.
void write_image(const DiskImage& image, const std::filesystem::path& folder);

}  // namespace sherd::faults
