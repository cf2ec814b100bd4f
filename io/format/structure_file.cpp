// A template becomes a file: its bytes written, its size set, datasets still holes.
#include "io/format/structure_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "io/disk/file_ops.hpp"

namespace sherd::io {
namespace {

void reserve_space(FileSystem& fs, const File& file, std::uint64_t bytes) {
  if (fs.allocate(file.fd(), bytes) == 0) {
    return;
  }
  if (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS) {
    throw_errno("reserve space for", file.path());
  }
}

}  // namespace

void write_structure(FileSystem& fs, const std::filesystem::path& path,
                     const FileTemplate& structure) {
  const File file(fs, path, O_WRONLY | O_CREAT | O_TRUNC);
  reserve_space(fs, file, structure.bytes);
  for (const Segment& segment : structure.structure) {
    file.write_at(segment.bytes, segment.offset);
  }
  if (fs.resize(file.fd(), structure.bytes) != 0) {
    throw_errno("resize", path);
  }
}

}  // namespace sherd::io
