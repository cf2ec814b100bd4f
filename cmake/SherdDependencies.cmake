# Finds what sherd links. The installed sherdConfig.cmake finds the same again.
include(SherdKokkos)
include(SherdHdf5)
include(SherdPackages)

find_package(MPI REQUIRED COMPONENTS C)
# mpi.h must not bring MPI's C++ classes into C++ files: nobody links their library.
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
find_package(Threads REQUIRED)
sherd_find_kokkos()
sherd_find_hdf5()
sherd_find_packages()

if(SHERD_ENABLE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  find_package(NCCL REQUIRED)
endif()
