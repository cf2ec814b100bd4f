#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/mpi/mpi_work.hpp"
#include "sherd/base/dtype.hpp"

namespace sherd::comm::mpi {

/// Point-to-point transfers of one operation: they share a tag, and messages longer than MPI can
/// count are cut. Copyable, for capture in stages.
class Exchange {
 public:
  Exchange(MPI_Comm comm, int tag, DType dtype, std::size_t max_elements);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }

  void send(const std::byte* data, std::size_t count, int to, MpiWork::Requests& requests) const;
  void receive(std::byte* data, std::size_t count, int from, MpiWork::Requests& requests) const;

 private:
  MPI_Comm comm_;
  int tag_;
  MPI_Datatype type_;
  std::size_t width_;
  std::size_t max_elements_;
  int rank_;
  int size_;
};

}  // namespace sherd::comm::mpi
