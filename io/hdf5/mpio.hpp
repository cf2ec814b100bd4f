#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "io/hdf5/handles.hpp"
#include "sherd/comm/mpi_interop.hpp"

/// Parallel HDF5: calls that all ranks of a communicator make together. Callers hold a Section.
namespace sherd::io::hdf5 {

/// Opens a closed file for writing through MPI-IO.
[[nodiscard]] Hdf5File open_parallel(const std::filesystem::path& path, MPI_Comm comm);

/// Writes a whole dataset from the memory of the one rank that passes `data`, in slices of at most
/// `slice_bytes` (or one row, where that is more); the others pass nullptr. Makes
/// all its calls before it throws, so that the other ranks are not left waiting.
void write_collectively(hid_t file, const std::string& path, const std::byte* data,
                        std::size_t slice_bytes = std::size_t{1} << 30);

}  // namespace sherd::io::hdf5
