// An MPI stencil code that saves while it computes and goes on from there on any number of ranks
// and any process grid. It owns MPI; state_of() and the lines with `checkpointer` and `ticket` are
// all that saving takes. Links sherd::io alone.
//   mpirun -n 4 ./03_stencil_checkpoint heat.ckpt 20; mpirun -n 6 ./03_stencil_checkpoint heat.ckpt
//   40 h5dump -d /heat/u heat.ckpt/step-00000040/index.h5
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "sherd/comm/mpi_interop.hpp"
#include "sherd/io/checkpointer.hpp"

namespace {

using sherd::Tensor;
using sherd::dtensor::Block;
const sherd::Shape kShape{20, 17, 13};
constexpr int kEvery = 5;  // steps between saves

/// One rank's block of the field, as the process grid cuts it in all three dimensions.
struct Domain {
  MPI_Comm grid = MPI_COMM_NULL;
  int dims[3] = {0, 0, 0}, at[3] = {0, 0, 0}, rank = 0, size = 0;
  Block block;

  Domain() {
    const int open[3] = {0, 0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, open, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 3, at);
    const sherd::dtensor::MeshDim mesh[] = {
        {dims[0], at[0], 0}, {dims[1], at[1], 1}, {dims[2], at[2], 2}};
    block = sherd::dtensor::shard_block(kShape, mesh);
  }
};

/// The field in `u`, which checkpoints read and write, and what else is needed to go on.
sherd::dtensor::StateDict state_of(const Block& block, const Tensor& u, int step) {
  sherd::dtensor::DTensor field;
  field.spec.name = "u";
  field.spec.global_shape = kShape;
  field.spec.dtype = u.dtype();
  field.spec.block = block;
  field.spec.numel = block.numel();
  field.local = u;
  sherd::dtensor::StateDict state;
  state.tensors.emplace("heat.u", field);
  state.common["step_done"] = std::to_string(step);
  return state;
}

/// Fills the faces of `padded` (one cell more on each side) from the neighbours; zero at the walls.
void exchange_faces(const Domain& domain, const int n[3], double* padded) {
  const int sizes[3] = {n[0] + 2, n[1] + 2, n[2] + 2};
  for (int d = 0; d < 3; ++d) {
    int counts[3] = {n[0], n[1], n[2]}, low = 0, high = 0;
    counts[d] = 1;
    MPI_Cart_shift(domain.grid, d, 1, &low, &high);
    const auto face = [&](int at) {
      int start[3] = {1, 1, 1};
      start[d] = at;
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_create_subarray(3, sizes, counts, start, MPI_ORDER_C, MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      return type;
    };
    MPI_Datatype faces[] = {face(1), face(n[d] + 1), face(n[d]), face(0)};
    MPI_Sendrecv(padded, 1, faces[0], low, 0, padded, 1, faces[1], high, 0, domain.grid,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(padded, 1, faces[2], high, 1, padded, 1, faces[3], low, 1, domain.grid,
                 MPI_STATUS_IGNORE);
    for (MPI_Datatype& type : faces) MPI_Type_free(&type);
  }
}

/// One step of the heat equation.
void advance(const Domain& domain, const double* from, double* to) {
  const auto& count = domain.block.count;
  const int n[3] = {int(count[0]), int(count[1]), int(count[2])};
  const std::size_t row = std::size_t(n[2] + 2), plane = row * std::size_t(n[1] + 2);
  std::vector<double> padded(plane * std::size_t(n[0] + 2), 0.0);
  const auto each_cell = [&](const auto& body) {
    std::size_t i = 0;
    for (std::size_t x = 1; x <= std::size_t(n[0]); ++x)
      for (std::size_t y = 1; y <= std::size_t(n[1]); ++y)
        for (std::size_t z = 1; z <= std::size_t(n[2]); ++z) body(i++, x * plane + y * row + z);
  };
  each_cell([&](std::size_t i, std::size_t p) { padded[p] = from[i]; });
  exchange_faces(domain, n, padded.data());
  each_cell([&](std::size_t i, std::size_t p) {
    const double* c = &padded[p];
    to[i] =
        0.25 * *c + 0.125 * ((c[-1] + c[1]) + (*(c - row) + c[row]) + (*(c - plane) + c[plane]));
  });
}

void run(const Domain& domain, const std::string& folder, int last_step) {
  auto comms = sherd::comm::make_mesh_comms(domain.grid);
  sherd::io::Checkpointer checkpointer(comms, {.directory = folder});
  Tensor now = Tensor::zeros({domain.block.numel()}, sherd::DType::f64), next = now.clone();
  auto state = state_of(domain.block, now, 0);
  int step = 0;
  if (checkpointer.load_latest(state)) {
    step = std::stoi(state.common.at("step_done"));
  } else {
    for (double& u : now.span<double>()) u = 100.0;  // a hot body in a cold room
  }
  std::printf("rank %d of %dx%dx%d goes on from step %d\n", domain.rank, domain.dims[0],
              domain.dims[1], domain.dims[2], step);
  sherd::io::SaveTicket ticket;
  while (step < last_step) {
    advance(domain, now.data<double>(), next.data<double>());
    std::swap(now, next);
    ++step;
    ticket.wait_staged();  // `next` may be what the last save still copies
    if (step % kEvery == 0) {
      ticket = checkpointer.save_lazily(step, state_of(domain.block, now, step));
    }
  }
  if (ticket.valid()) ticket.wait();  // committed: survives a power cut
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  try {
    if (argc != 3) throw std::runtime_error("usage: 03_stencil_checkpoint FOLDER STEPS");
    run(Domain(), argv[1], std::atoi(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
