#include "comm/emulated/emulated_communicator.hpp"

#include <exception>
#include <utility>

#include "comm/shared/shared_communicator.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"
#include "sherd/runtime/emulated_device.hpp"

namespace sherd::comm {
namespace {

/// Lets ranks that wait for this one in the host's collectives go.
void let_others_go(Communicator& host) noexcept {
  if (SharedTeam* team = host.capabilities().team; team != nullptr) {
    give_up(*team);
  }
}

}  // namespace

EmulatedCommunicator::EmulatedCommunicator(std::unique_ptr<Communicator> host,
                                           std::shared_ptr<runtime::Device> device)
    : host_(std::move(host)),
      bootstrap_(host_->duplicate()),
      thread_(host_->capabilities().blocking ? std::make_shared<ProgressThread>() : nullptr),
      operations_(std::make_shared<DeviceOperations>(
          std::move(device),
          DeviceOperations::ErrorHooks{{}, [host = host_] { let_others_go(*host); }})),
      exceptions_(std::uncaught_exceptions()) {
  expect(runtime::as_emulated(operations_->stream()) != nullptr,
         "emulated collectives need an emulated device");
}

EmulatedCommunicator::~EmulatedCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) {
    let_others_go(*host_);
    thread_.reset();  // it lets go of device memory before that is locked again
    return;
  }
  try {
    operations_->wait_on_host(operations_->stream().record(), "the end of a communicator");
  } catch (const std::exception& failure) {
    log::warning(std::string("an operation was not finished: ") + failure.what());
  }
}

Work EmulatedCommunicator::start(const Collective& wanted) {
  if (wanted.kind == CollectiveKind::barrier) {
    meet();
    return {};
  }
  auto* stream = runtime::as_emulated(operations_->stream());
  const auto collective = [wanted, host = host_.get()] { return host->issue(wanted); };
  return operations_->issue(describe(wanted), [&] {
    if (thread_ != nullptr) {
      auto ticket = std::make_shared<std::shared_ptr<Ticket>>();
      stream->run_polled(
          [ticket, weak = std::weak_ptr(thread_), collective] {
            const auto thread = weak.lock();
            if (thread == nullptr) {
              throw CommError("an operation of a communicator that was given up");
            }
            *ticket = thread->submit(collective);
          },
          [ticket, host = host_] {
            if ((*ticket)->done.epoch.load(std::memory_order_acquire) == 0) {
              return false;
            }
            if ((*ticket)->error != nullptr) {
              std::rethrow_exception((*ticket)->error);
            }
            return true;
          });
      return;
    }
    auto work = std::make_shared<Work>();
    stream->run_polled([work, host = host_, collective] { *work = collective(); },
                       [work] { return work->test(); });
  });
}

void EmulatedCommunicator::meet() {
  operations_->wait_on_host(operations_->stream().record(), "barrier");
  bootstrap_->barrier();
}

std::unique_ptr<Communicator> EmulatedCommunicator::duplicate() {
  return std::make_unique<EmulatedCommunicator>(bootstrap_->duplicate(),
                                                operations_->device().shared_from_this());
}

}  // namespace sherd::comm
