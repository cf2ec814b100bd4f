# Finds what sherd links. The installed sherdConfig.cmake finds the same again.
include(SherdKokkos)
include(SherdHdf5)
include(SherdPackages)

find_package(MPI REQUIRED COMPONENTS C)
# mpi.h must not bring MPI's C++ classes into C++ files: nobody links their library.
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
find_package(Threads REQUIRED)
sherd_find_kokkos()
if(SHERD_KOKKOS_CUDA)
  set(CMAKE_CUDA_ARCHITECTURES "${SHERD_CUDA_ARCHITECTURES}")
  set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.25.2
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  # nvcc's host compiler is the C++ compiler: -isystem /usr/include would hide headers from it
  list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
endif()
sherd_find_hdf5()
sherd_find_packages()

if(SHERD_ENABLE_CUDA)
  find_package(CUDAToolkit REQUIRED)
endif()
if(SHERD_ENABLE_NCCL)
  find_package(NCCL REQUIRED)
endif()
