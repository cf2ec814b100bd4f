#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/disk/write_signals.hpp"
#include "io/hdf5/handles.hpp"
#include "io/hdf5/memory_image.hpp"
#include "io/layout/hyperslab.hpp"

/// The HDF5 calls a checkpoint's structure needs, each wrapped once. All throw IoError naming call
/// and object with HDF5's own reason. Callers hold a Section: Debian's HDF5 is not thread-safe.
namespace sherd::io::hdf5 {

/// Keeps other threads of ours out of HDF5, HDF5 from printing the errors that we throw, and the
/// signals of failed writes from ending the process.
class Section {
 public:
  Section();
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  WriteSignals signals_;
  H5E_auto2_t print_ = nullptr;  // what the program had set
  void* print_data_ = nullptr;
};

/// What files are opened with: without locks. Checkpoints are private until their folder gets its
/// name and are never changed after; some file systems have no locks and say ENOLCK.
[[nodiscard]] Hdf5Properties file_access();

/// Whether objects smaller than a page (4096 bytes) may share one.
enum class Pages : std::uint8_t { shared, apart };

/// A new file, to be closed with close_file(), in the format that HDF5 1.8 to 2.x read, without
/// time stamps; objects of 4096 bytes and more (all, when apart) start at multiples of 4096,
/// metadata is kept in blocks of `metadata_bytes`. The image is complete when the file is closed.
[[nodiscard]] Hdf5File create_file(MemoryImage& image, std::size_t metadata_bytes, Pages pages);
/// `name` is for messages.
void close_file(Hdf5File file, std::string_view name = "a file in memory");

/// A group without time stamps; its parent must exist.
void create_group(hid_t file, const std::string& path);
void hard_link(hid_t file, const std::string& existing, const std::string& name);

/// A contiguous dataset whose place in the file is fixed at once and never filled.
[[nodiscard]] Hdf5Dataset create_contiguous(hid_t file, const std::string& path, hid_t type,
                                            std::span<const std::int64_t> extents);
/// Where its raw data lies; the dataset must not be empty.
[[nodiscard]] std::uint64_t offset_of(const Hdf5Dataset& dataset, const std::string& path);

/// One source of a virtual dataset: all of `dataset`, which has `extents`, of `file` ("." is the
/// same one), laid into the union of `boxes`. Names are taken as they are.
struct VirtualSource {
  std::string file;
  std::string dataset;
  std::vector<std::int64_t> extents;
  std::vector<Box> boxes;
};
/// `fill` is one element of `type`: what reads where no source answers.
[[nodiscard]] Hdf5Dataset create_virtual(hid_t file, const std::string& path, hid_t type,
                                         std::span<const std::int64_t> extents, const void* fill,
                                         std::span<const VirtualSource> sources);

void set_attribute(hid_t object, const char* name, std::string_view text);
void set_attribute(hid_t object, const char* name, std::int64_t value);
void set_attribute(hid_t object, const char* name, std::span<const std::int64_t> values);

/// UTF-8 text of at most bytes - 1 bytes, padded with NULs.
[[nodiscard]] Hdf5Type string_type(std::size_t bytes);

}  // namespace sherd::io::hdf5
