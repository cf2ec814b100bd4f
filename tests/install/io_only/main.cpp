#include <cstdio>
#include <filesystem>

#include "sherd/base/config.hpp"
#include "sherd/io/checkpointer.hpp"

namespace {

sherd::dtensor::StateDict one_array(double value) {
  sherd::dtensor::DTensor field;
  field.spec.name = "field";
  field.spec.global_shape = {5};
  field.spec.dtype = sherd::DType::f64;
  field.spec.numel = 5;
  field.local = sherd::Tensor::empty({5}, sherd::DType::f64);
  for (double& x : field.local.span<double>()) x = value;
  sherd::dtensor::StateDict state;
  state.tensors.emplace("field", field);
  return state;
}

}  // namespace

/// Checkpoints without MPI: one process, one array, there and back.
int main() {
  std::filesystem::remove_all("checkpoints");
  auto comms = sherd::comm::make_self_comms();
  sherd::io::Checkpointer checkpointer(comms, {.directory = "checkpoints"});
  checkpointer.save_async(7, one_array(1.5)).wait();
  auto loaded = one_array(0.0);
  const auto report = checkpointer.load_latest(loaded);
  const bool right = report && loaded.tensors.at("field").local.span<double>()[4] == 1.5;
  std::printf("consumer of sherd %s: %s\n", SHERD_VERSION, right ? "read back" : "wrong");
  return right ? 0 : 1;
}
