#include "collectives/cases.hpp"

#include <mpi.h>

#include <cstring>

namespace sherd::bench {
namespace {

using comm::Communicator;
using comm::ReduceOp;

Contender memcpy_of(Buffers& b) {
  return {"memcpy", [&b] { std::memcpy(b.out(), b.in(), b.bytes()); }};
}

Case all_gather(Communicator& comm, Buffers& b) {
  const int count = static_cast<int>(b.count());
  Case result{"all_gather",
              {{"ours", [&] { comm.all_gather(b.in(), b.out(), b.count(), DType::f32).wait(); }},
               {"stock",
                [&b, count] {
                  MPI_Allgather(b.in(), count, MPI_FLOAT, b.out(), count, MPI_FLOAT,
                                MPI_COMM_WORLD);
                }},
               memcpy_of(b)}};
  if (b.shared()) {
    const auto into_common = [&comm, &b](const float* shard) {
      comm.all_gather(shard, b.common(), b.count(), DType::f32).wait();
    };
    result.contenders.push_back({"shared", [into_common, &b] { into_common(b.in()); }});
    result.contenders.push_back({"in_place", [into_common, &b] { into_common(b.common_piece()); }});
  }
  return result;
}

Case reduce_scatter(Communicator& comm, Buffers& b) {
  const int count = static_cast<int>(b.count());
  const auto ours = [&comm, &b](float* full) {
    comm.reduce_scatter(full, b.out(), b.count(), DType::f32, ReduceOp::sum).wait();
  };
  Case result{"reduce_scatter",
              {{"ours", [ours, &b] { ours(b.in()); }},
               {"stock",
                [&b, count] {
                  MPI_Reduce_scatter_block(b.in(), b.out(), count, MPI_FLOAT, MPI_SUM,
                                           MPI_COMM_WORLD);
                }},
               memcpy_of(b)}};
  if (b.shared()) {
    result.contenders.push_back({"shared", [ours, &b] { ours(b.own()); }});
  }
  return result;
}

Case all_reduce(Communicator& comm, Buffers& b) {
  const std::size_t whole = b.bytes() / sizeof(float);
  const int count = static_cast<int>(whole);
  return {
      "all_reduce",
      {{"ours",
        [&comm, &b, whole] {
          comm.all_reduce(b.in(), b.out(), whole, DType::f32, ReduceOp::sum).wait();
        }},
       {"stock",
        [&b, count] { MPI_Allreduce(b.in(), b.out(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }},
       memcpy_of(b)}};
}

}  // namespace

Buffers::Buffers(Communicator& comm, std::size_t bytes)
    : ranks_(static_cast<std::size_t>(comm.size())),
      rank_(static_cast<std::size_t>(comm.rank())),
      count_(bytes / sizeof(float) / ranks_),
      in_(count_ * ranks_, 1.0F),
      out_(count_ * ranks_, 0.0F),
      region_(comm.allocate_shared(this->bytes() * (ranks_ + 1))) {}

float* Buffers::common() const { return reinterpret_cast<float*>(region_->bytes().data()); }

float* Buffers::common_piece() const { return common() + count_ * rank_; }

float* Buffers::own() const { return common() + count_ * ranks_ * (1 + rank_); }

std::vector<Case> make_cases(Communicator& comm, Buffers& buffers) {
  return {all_gather(comm, buffers), reduce_scatter(comm, buffers), all_reduce(comm, buffers)};
}

}  // namespace sherd::bench
