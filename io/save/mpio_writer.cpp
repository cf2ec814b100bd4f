#include "io/save/mpio_writer.hpp"

#include <exception>
#include <utility>

#include "io/hdf5/mpio.hpp"
#include "io/hdf5/types.hpp"
#include "io/hdf5/write_api.hpp"
#include "sherd/base/check.hpp"

namespace sherd::io {

MpioWriter::MpioWriter(const comm::Ranks& ranks, Layout layout)
    : ranks_(ranks),
      files_(layout, *ranks.mesh),
      comm_(comm::split_mpi_comm(*ranks.world, files_.of(ranks.rank()))) {
  validate(comm_ != nullptr,
           "the mpio backend needs ranks that MPI has started (these are threads, or one process "
           "without MPI). Try: the pwrite backend");
}

/// Every rank takes part in the writes of all ranks of its file, with nothing in those of others.
void MpioWriter::write(const std::filesystem::path& file, const SavePlan& plan,
                       const StageSources& sources) const {
  all_or_none(ranks_, [&] {
    const hdf5::Section section;
    Hdf5File open = hdf5::open_parallel(file, *comm_);
    std::exception_ptr failure;
    const auto write = [&](int rank, std::size_t item) {
      try {
        hdf5::write_collectively(open.get(), item_path(plan.layout, rank, item),
                                 rank == ranks_.rank() ? sources.item(item) : nullptr);
      } catch (const IoError&) {  // the other ranks go on with the next one, so this one must
        failure = failure == nullptr ? std::current_exception() : failure;
      }
    };
    for (const int rank : files_.members(files_.of(ranks_.rank()))) {
      for (const std::size_t item : file_order(plan.layout)) {
        if (item_bytes(plan.layout, rank, item) > 0) {
          write(rank, item);
        }
      }
    }
    hdf5::close_file(std::move(open), file.string());
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
  });
}

}  // namespace sherd::io
