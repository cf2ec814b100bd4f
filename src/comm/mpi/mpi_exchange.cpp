#include "comm/mpi/mpi_exchange.hpp"

#include <algorithm>

#include "comm/mpi/mpi_api.hpp"
#include "comm/mpi/mpi_types.hpp"

namespace sherd::comm::mpi {

Exchange::Exchange(MPI_Comm comm, int tag, DType dtype, std::size_t max_elements)
    : comm_(comm),
      tag_(tag),
      type_(type_of(dtype)),
      width_(size_of(dtype)),
      max_elements_(max_elements),
      rank_(comm_rank(comm)),
      size_(comm_size(comm)) {}

void Exchange::send(const std::byte* data, std::size_t count, int to,
                    MpiWork::Requests& requests) const {
  for (std::size_t begin = 0; begin < count; begin += max_elements_) {
    const auto n = static_cast<int>(std::min(max_elements_, count - begin));
    requests.push_back(isend(data + begin * width_, n, type_, to, tag_, comm_));
  }
}

void Exchange::receive(std::byte* data, std::size_t count, int from,
                       MpiWork::Requests& requests) const {
  for (std::size_t begin = 0; begin < count; begin += max_elements_) {
    const auto n = static_cast<int>(std::min(max_elements_, count - begin));
    requests.push_back(irecv(data + begin * width_, n, type_, from, tag_, comm_));
  }
}

}  // namespace sherd::comm::mpi
