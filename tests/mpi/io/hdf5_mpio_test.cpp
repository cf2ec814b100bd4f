#include "io/hdf5/mpio.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "io/disk/positioned_reader.hpp"
#include "io/format/structure_file.hpp"
#include "io/hdf5/types.hpp"
#include "io/hdf5/write_api.hpp"
#include "support/checkpoint_world.hpp"

namespace sherd::io::test {
namespace {

/// Makes a file with one 7 x 5 dataset of u16; returns where its data lies.
std::uint64_t make_file(const std::filesystem::path& path) {
  const hdf5::Section section;
  hdf5::MemoryImage image;
  Hdf5File file = hdf5::create_file(image, 4096, hdf5::Pages::shared);
  std::uint64_t offset = 0;
  {
    const std::array<std::int64_t, 2> extents{7, 5};
    const Hdf5Type type = hdf5::file_type(DType::u16);
    const Hdf5Dataset dataset = hdf5::create_contiguous(file.get(), "/x", type.get(), extents);
    offset = hdf5::offset_of(dataset, "/x");
  }
  hdf5::close_file(std::move(file));
  write_structure(*posix_file_system(), path, read_template(image, {}));
  return offset;
}

TEST(Hdf5Mpio, SlicesOfAnySizeMakeUpTheDataset) {
  comm::MeshComms comms = comm::make_mesh_comms();
  const comm::Ranks ranks{comms.world.get(), &comms.mesh};
  const SharedDirectory directory(comms);
  const auto path = directory.path() / "sliced.h5";
  const comm::OwnedMpiComm all = comm::split_mpi_comm(*comms.world, 0);
  std::vector<std::byte> data(7 * 5 * 2);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = pattern(3, static_cast<std::int64_t>(i));
  }
  for (const std::size_t slice : {std::size_t{1}, std::size_t{10}, std::size_t{25}, data.size()}) {
    const std::uint64_t offset = ranks.rank() == 0 ? make_file(path) : 0;
    comms.world->barrier();
    {
      const hdf5::Section section;
      Hdf5File file = hdf5::open_parallel(path, *all);
      const bool mine = ranks.rank() == ranks.size() - 1;
      hdf5::write_collectively(file.get(), "/x", mine ? data.data() : nullptr, slice);
      hdf5::close_file(std::move(file), path.string());
    }
    comms.world->barrier();
    if (ranks.rank() == 0) {
      std::vector<std::byte> read(data.size());
      PositionedReader(path).read(offset, read);
      EXPECT_EQ(read, data) << slice;
    }
    comms.world->barrier();
  }
}

}  // namespace
}  // namespace sherd::io::test
