// sherd::io alone: any MPI code can checkpoint its distributed arrays, and read them again on
// another number of ranks.
//   mpirun -n 2 ./02_checkpoint_an_array save field.ckpt; mpirun -n 3 ./02_checkpoint_an_array load
//   field.ckpt
#include <cstdio>
#include <exception>
#include <string>

#include "sherd/io/checkpointer.hpp"
#include "sherd/runtime/runtime.hpp"

namespace {

constexpr std::int64_t kRows = 101, kColumns = 7;

/// A 101 x 7 field of doubles; rank r of size holds rows r*101/size up to (r+1)*101/size.
sherd::dtensor::StateDict distributed_field(int rank, int size) {
  const std::int64_t first = rank * kRows / size, last = (rank + 1) * kRows / size;
  sherd::dtensor::DTensor field;
  field.spec.name = "field";
  field.spec.global_shape = {kRows, kColumns};
  field.spec.dtype = sherd::DType::f64;
  field.spec.offset = first * kColumns;
  field.spec.numel = (last - first) * kColumns;
  field.local = sherd::Tensor::zeros({field.spec.numel}, sherd::DType::f64);
  sherd::dtensor::StateDict state;
  state.tensors.emplace("field", field);
  state.common["time"] = "0";
  return state;
}

double value_at(std::int64_t element) { return 0.5 * double(element); }

void save(sherd::comm::MeshComms& comms, const std::string& folder) {
  auto state = distributed_field(comms.world->rank(), comms.world->size());
  const auto& field = state.tensors.at("field");
  for (std::int64_t i = 0; i < field.spec.numel; ++i) {
    field.local.data<double>()[i] = value_at(field.spec.offset + i);
  }
  state.common["time"] = "12.5";
  sherd::io::Checkpointer checkpointer(comms, {.directory = folder});
  const auto ticket = checkpointer.save_async(1, state);  // returns when the field is copied
  ticket.wait();                                          // committed: survives a power cut
}

/// Returns how many elements of this rank's part are wrong.
std::int64_t load(sherd::comm::MeshComms& comms, const std::string& folder) {
  auto state = distributed_field(comms.world->rank(), comms.world->size());
  sherd::io::Checkpointer checkpointer(comms, {.directory = folder});
  if (!checkpointer.load_latest(state)) throw std::runtime_error(folder + " holds no checkpoint");
  const auto& field = state.tensors.at("field");
  std::int64_t wrong = state.common.at("time") == "12.5" ? 0 : 1;
  for (std::int64_t i = 0; i < field.spec.numel; ++i) {
    wrong += field.local.data<double>()[i] != value_at(field.spec.offset + i);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  try {
    if (argc != 3) throw std::runtime_error("usage: 02_checkpoint_an_array save|load FOLDER");
    auto comms = sherd::comm::make_mesh_comms();
    if (std::string(argv[1]) == "save") save(comms, argv[2]);
    const std::int64_t wrong = load(comms, argv[2]);
    std::printf("rank %d of %d: %lld wrong\n", runtime.rank(), runtime.size(), (long long)wrong);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "[rank %d] %s\n", runtime.rank(), error.what());
    runtime.abort(1);
  }
}
