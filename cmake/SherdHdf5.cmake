# Finds the parallel HDF5 C library and offers it as sherd::hdf5. Used by the build and, installed, by
# sherdConfig.cmake.
include_guard()
include("${CMAKE_CURRENT_LIST_DIR}/SherdPackages.cmake")

function(sherd_find_hdf5)
  if(TARGET sherd::hdf5)
    return()
  endif()
  set(HDF5_PREFER_PARALLEL TRUE)
  find_package(HDF5 QUIET COMPONENTS C)
  if(NOT HDF5_FOUND OR NOT HDF5_IS_PARALLEL)
    sherd_missing("HDF5 ${HDF5_VERSION} with MPI was not found (checkpoints are parallel HDF5 files). "
                  "Try: apt-get install libhdf5-openmpi-dev, or spack install hdf5+mpi")
    return()
  endif()
  add_library(sherd::hdf5 INTERFACE IMPORTED)
  target_include_directories(sherd::hdf5 INTERFACE ${HDF5_C_INCLUDE_DIRS})
  target_link_libraries(sherd::hdf5 INTERFACE ${HDF5_C_LIBRARIES})
  # hdf5.h includes mpi.h
  target_compile_definitions(sherd::hdf5 INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  sherd_found("HDF5 ${HDF5_VERSION} (parallel)")
endfunction()
