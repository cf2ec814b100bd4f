# Finds what sherd links. The installed sherdConfig.cmake finds the same again.
include(SherdKokkos)
include(SherdHdf5)
include(SherdPackages)

set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
sherd_find_kokkos()
sherd_find_hdf5()
sherd_find_packages()

if(SHERD_ENABLE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  find_package(NCCL REQUIRED)
endif()
