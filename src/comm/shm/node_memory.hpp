#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sherd/base/unique_handle.hpp"

/// Memory that processes of one node map at once and that goes with the last of them, however they
/// end: it has no name that a kill could leave behind. Every call is local; what fails throws
/// CommError.
namespace sherd::comm {

struct NodeFileTraits {
  using Raw = int;
  static Raw null() noexcept { return -1; }
  static void close(Raw raw) noexcept;
};
using NodeFile = UniqueHandle<NodeFileTraits>;

/// Where another process of the node finds a file of this one, and how it knows that it is the one.
struct NodeFileOffer {
  std::int64_t pid = 0;
  std::int64_t fd = -1;
  std::int64_t device = 0;
  std::int64_t inode = 0;
};

/// A file of `bytes` zeros in memory, without a name and outside every file system that is mounted.
[[nodiscard]] NodeFile make_node_file(std::size_t bytes);
[[nodiscard]] NodeFileOffer offer_of(const NodeFile& file);
/// Null where this process may not look at the other's files (containers of their own, /proc).
[[nodiscard]] NodeFile open_offered(const NodeFileOffer& offer) noexcept;

/// The way around: a file of /dev/shm, of which the name is to go once all have opened it.
[[nodiscard]] NodeFile make_named_file(const std::string& name);
[[nodiscard]] NodeFile open_named_file(const std::string& name);
void remove_name(const std::string& name) noexcept;
[[nodiscard]] std::string new_name();

void set_node_file_size(const NodeFile& file, std::size_t bytes);

/// A mapping of a whole file.
class NodeMapping {
 public:
  NodeMapping(const NodeFile& file, std::size_t bytes);
  ~NodeMapping();
  NodeMapping(const NodeMapping&) = delete;
  NodeMapping& operator=(const NodeMapping&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// Takes the memory of a part now, near this thread's core: later there is no way to say that there
/// is none but SIGBUS.
void reserve_part(const NodeFile& file, std::size_t first, std::size_t bytes);

}  // namespace sherd::comm
