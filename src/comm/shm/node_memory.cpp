// Files in memory that have no name: how processes of a node come to the same one.
#include "comm/shm/node_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>

#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr const char* kFolder = "/dev/shm/";

[[noreturn]] void fail(const char* what, std::size_t bytes) {
  const int error = errno;
  throw CommError(
      fmt::format("{} {} bytes of shared memory failed: {} (ranks of a node share memory). Try: {}",
                  what, bytes, std::strerror(error),
                  error == EFBIG ? "a larger limit of file sizes (ulimit -f)"
                                 : "fewer ranks on a node, or backend mpi"));
}

/// For tests: SHERD_TEST_NODE_MEMORY=named stands in for containers that hide /proc from each
/// other.
bool may_look_at_others() {
  const char* told = std::getenv("SHERD_TEST_NODE_MEMORY");
  return told == nullptr || std::strcmp(told, "named") != 0;
}

bool is_offered(const struct stat& info, const NodeFileOffer& offer) {
  return S_ISREG(info.st_mode) && static_cast<std::int64_t>(info.st_dev) == offer.device &&
         static_cast<std::int64_t>(info.st_ino) == offer.inode;
}

}  // namespace

void NodeFileTraits::close(Raw raw) noexcept { ::close(raw); }

void set_node_file_size(const NodeFile& file, std::size_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  if (bytes > limit.rlim_cur) {  // asking would end the process (SIGXFSZ)
    errno = EFBIG;
    fail("making", bytes);
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    fail("making", bytes);
  }
}

NodeFile make_node_file(std::size_t bytes) {
  NodeFile file(::memfd_create("sherd-shared", MFD_CLOEXEC));
  if (!file) {
    fail("making", bytes);
  }
  set_node_file_size(file, bytes);
  return file;
}

NodeFileOffer offer_of(const NodeFile& file) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) {
    fail("looking at", 0);
  }
  return {::getpid(), file.get(), static_cast<std::int64_t>(info.st_dev),
          static_cast<std::int64_t>(info.st_ino)};
}

NodeFile open_offered(const NodeFileOffer& offer) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", static_cast<long long>(offer.pid),
                static_cast<long long>(offer.fd));
  struct stat info {};
  // Looked at first: in another PID namespace it may be any file of any process.
  if (!may_look_at_others() || ::stat(path, &info) != 0 || !is_offered(info, offer)) {
    return {};
  }
  NodeFile file(::open(path, O_RDWR | O_CLOEXEC));
  return file && ::fstat(file.get(), &info) == 0 && is_offered(info, offer) ? std::move(file)
                                                                            : NodeFile();
}

std::string new_name() {
  std::random_device random;
  return fmt::format("{}sherd-{}-{:08x}{:08x}", kFolder, ::getpid(), random(), random());
}

NodeFile make_named_file(const std::string& name) {
  NodeFile file(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    throw CommError(
        fmt::format("cannot make '{}': {} (ranks of a node share memory there). Try: "
                    "backend mpi",
                    name, std::strerror(errno)));
  }
  return file;
}

NodeFile open_named_file(const std::string& name) {
  NodeFile file(::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    throw CommError(
        fmt::format("cannot open '{}', which another rank of the node made: {} (ranks "
                    "of a node share memory there). Try: one /dev/shm for all of them "
                    "(docker run --ipc=host), or backend mpi",
                    name, std::strerror(errno)));
  }
  return file;
}

void remove_name(const std::string& name) noexcept { ::unlink(name.c_str()); }

NodeMapping::NodeMapping(const NodeFile& file, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    fail("mapping", bytes);
  }
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

NodeMapping::~NodeMapping() {
  if (!bytes_.empty()) {
    ::munmap(bytes_.data(), bytes_.size());
  }
}

void reserve_part(const NodeFile& file, std::size_t first, std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  int result = 0;
  do {
    result = ::fallocate(file.get(), 0, static_cast<off_t>(first), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EOPNOTSUPP) {
    fail("reserving", bytes);
  }
}

}  // namespace sherd::comm
