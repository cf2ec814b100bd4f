#pragma once

#include <cstdint>

/// What the shim writes for each operation that succeeded: a header, then `path_bytes` of path,
/// `other_bytes` of a second path, `data_bytes` of data. Paths are relative to the root.
namespace sherd::faults {

enum class Operation : std::uint8_t {
  note,        ///< path: the remark
  create,      ///< path of a new file, `inode`
  mkdir,       ///< path, `inode`
  write,       ///< `inode`, `offset`, data
  truncate,    ///< `inode`, `offset`: new size
  sync,        ///< `inode`, of a file or a directory
  rename,      ///< path to other path
  exchange,    ///< path with other path
  unlink,      ///< path
  remove_dir,  ///< path
};

struct OperationHeader {
  Operation operation = Operation::note;
  std::uint8_t padding[3] = {};
  std::int32_t rank = 0;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::uint32_t path_bytes = 0;
  std::uint32_t other_bytes = 0;
  std::uint64_t data_bytes = 0;
};

}  // namespace sherd::faults
