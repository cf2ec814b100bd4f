#include "comm/nccl/nccl_communicator.hpp"

#include <fmt/format.h>

#include <utility>

#include "comm/arguments.hpp"
#include "comm/nccl/nccl_work.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm::nccl {
namespace {

/// Elements as NCCL moves them: it has no 16-bit integers, so u16 travels as twice the bytes.
struct Elements {
  ncclDataType_t type;
  std::size_t count;
};

Elements elements_of(std::size_t count, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {ncclFloat64, count};
    case DType::f32:
      return {ncclFloat32, count};
    case DType::f16:
      return {ncclFloat16, count};
    case DType::bf16:
      return {ncclBfloat16, count};
    case DType::i64:
      return {ncclInt64, count};
    case DType::i32:
      return {ncclInt32, count};
    case DType::u16:
      return {ncclUint8, 2 * count};
    case DType::u8:
      return {ncclUint8, count};
  }
  throw ArgumentError("NCCL has no type for this dtype");
}

ncclRedOp_t op_of(ReduceOp op) {
  return op == ReduceOp::sum ? ncclSum : (op == ReduceOp::max ? ncclMax : ncclMin);
}

std::string describe(const char* what, std::size_t count, DType dtype) {
  return fmt::format("{} of {} x {}", what, count, to_string(dtype));
}

}  // namespace

NcclCommunicator::NcclCommunicator(const ncclUniqueId& id, int rank, int size)
    : rank_(rank),
      size_(size),
      stream_(make_stream()),
      scratch_(allocate(sizeof(ncclUniqueId))),
      comm_(init_rank(size, id, rank)) {}

Work NcclCommunicator::issued(std::string what) const {
  return Work(
      std::make_unique<NcclWork>(std::move(what), record_event(stream_.get()), comm_.get()));
}

Work NcclCommunicator::all_gather(const void* shard, void* full, std::size_t count, DType dtype) {
  const Elements moved = elements_of(count, dtype);
  nccl::all_gather(shard, full, moved.count, moved.type, comm_.get(), stream_.get());
  return issued(describe("all_gather", count, dtype));
}

Work NcclCommunicator::reduce_scatter(const void* full, void* shard, std::size_t count, DType dtype,
                                      ReduceOp op) {
  expect_reducible(dtype);
  nccl::reduce_scatter(full, shard, count, elements_of(count, dtype).type, op_of(op), comm_.get(),
                       stream_.get());
  return issued(describe("reduce_scatter", count, dtype));
}

Work NcclCommunicator::all_reduce(const void* in, void* out, std::size_t count, DType dtype,
                                  ReduceOp op) {
  expect_reducible(dtype);
  nccl::all_reduce(in, out, count, elements_of(count, dtype).type, op_of(op), comm_.get(),
                   stream_.get());
  return issued(describe("all_reduce", count, dtype));
}

Work NcclCommunicator::broadcast(void* data, std::size_t count, DType dtype, int root) {
  expect_root(root, size_);
  const Elements moved = elements_of(count, dtype);
  nccl::broadcast(data, moved.count, moved.type, root, comm_.get(), stream_.get());
  return issued(describe("broadcast", count, dtype));
}

void NcclCommunicator::barrier() {
  nccl::all_reduce(scratch_.get(), scratch_.get(), 1, ncclUint8, ncclMax, comm_.get(),
                   stream_.get());
  issued("barrier").wait();
}

std::unique_ptr<SharedRegion> NcclCommunicator::allocate_shared(std::size_t) { return nullptr; }

std::unique_ptr<EpochBoard> NcclCommunicator::make_epoch_board(std::size_t) { return nullptr; }

/// The id of the new communicator travels over the old one.
std::unique_ptr<Communicator> NcclCommunicator::duplicate() {
  ncclUniqueId id = {};
  if (rank_ == 0) {
    id = make_unique_id();
    copy_to_device(scratch_.get(), &id, sizeof id);
  }
  broadcast(scratch_.get(), sizeof id, DType::u8, 0).wait();
  copy_to_host(&id, scratch_.get(), sizeof id);
  return std::make_unique<NcclCommunicator>(id, rank_, size_);
}

}  // namespace sherd::comm::nccl
