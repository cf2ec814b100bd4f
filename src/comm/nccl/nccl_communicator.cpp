#include "comm/nccl/nccl_communicator.hpp"

#include <cstdint>
#include <exception>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd::comm::nccl {
namespace {

/// Elements as NCCL moves them: it has no 16-bit integers, so u16 travels as twice the bytes.
struct Elements {
  DType dtype;
  std::size_t count;
};

Elements moved(std::size_t count, DType dtype) {
  return dtype == DType::u16 ? Elements{DType::u8, 2 * count} : Elements{dtype, count};
}

UniqueId agree_on_id(Library& library, Communicator& bootstrap) {
  UniqueId id;
  std::int32_t made = 1;
  if (bootstrap.rank() == 0 && library.make_id(id) != Result::success) {
    made = 0;
  }
  bootstrap.broadcast(&made, 1, DType::i32, 0).wait();
  if (made == 0) {
    throw CommError(
        "NCCL makes no id on rank 0 (no network interface can be used?). Try: "
        "NCCL_DEBUG=INFO, NCCL_SOCKET_IFNAME");
  }
  bootstrap.broadcast(&id, sizeof id, DType::u8, 0).wait();
  return id;
}

/// A rank on which it failed tells the others, which may think that they are connected.
std::shared_ptr<Connection> connect(Library& library, Communicator& bootstrap) {
  const UniqueId id = agree_on_id(library, bootstrap);
  std::shared_ptr<Connection> connection;
  std::exception_ptr failure;
  try {
    connection = std::make_shared<Connection>(library, id, bootstrap.rank(), bootstrap.size(),
                                              connection_limit());
  } catch (const Error&) {
    failure = std::current_exception();
  }
  std::int32_t all = failure == nullptr ? 1 : 0;
  bootstrap.all_reduce(&all, &all, 1, DType::i32, ReduceOp::min).wait();
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
  if (all == 0) {
    connection->abort();
    throw CommError("NCCL does not come up on another rank. Try: look for its message");
  }
  return connection;
}

}  // namespace

NcclCommunicator::NcclCommunicator(Library& library, std::shared_ptr<Communicator> bootstrap,
                                   std::shared_ptr<runtime::Device> device)
    : library_(library),
      bootstrap_(std::move(bootstrap)),
      rank_(bootstrap_->rank()),
      size_(bootstrap_->size()) {
  device->make_current();
  connection_ = connect(library, *bootstrap_);
  operations_ = std::make_shared<DeviceOperations>(
      std::move(device),
      DeviceOperations::ErrorHooks{
          [connection = connection_](const std::string& what) { connection->check(what); },
          [connection = connection_] { connection->abort(); }});
}

Work NcclCommunicator::start(const Collective& collective) {
  if (collective.kind == CollectiveKind::barrier) {
    meet();
    return {};
  }
  const std::string what = describe(collective);
  return operations_->issue(what, [&] {
    connection_->call(what, [&](Library&, Library::Comm* comm) {
      return call(collective, comm, operations_->stream().native());
    });
  });
}

Result NcclCommunicator::call(const Collective& c, Library::Comm* comm, void* stream) {
  const Elements sent = moved(c.count, c.dtype);
  switch (c.kind) {
    case CollectiveKind::all_gather:
      return library_.all_gather(c.in, c.out, sent.count, sent.dtype, comm, stream);
    case CollectiveKind::reduce_scatter:
      return library_.reduce_scatter(c.in, c.out, c.count, c.dtype, c.op, comm, stream);
    case CollectiveKind::all_reduce:
      return library_.all_reduce(c.in, c.out, c.count, c.dtype, c.op, comm, stream);
    case CollectiveKind::broadcast:
      return library_.broadcast(c.out, sent.count, sent.dtype, c.root, comm, stream);
    case CollectiveKind::none:
    case CollectiveKind::barrier:
      break;
  }
  return Result::success;
}

/// Needs no memory on the device: this rank's operations are complete, then the ranks meet.
void NcclCommunicator::meet() {
  operations_->wait_on_host(operations_->stream().record(), "barrier");
  bootstrap_->barrier();
}

std::unique_ptr<Communicator> NcclCommunicator::duplicate() {
  return std::make_unique<NcclCommunicator>(library_, bootstrap_->duplicate(),
                                            operations_->device().shared_from_this());
}

}  // namespace sherd::comm::nccl
