# Finds Kokkos 3.4.01 up to 5.x and offers it as sherd::kokkos. Used by the build and, installed, by
# sherdConfig.cmake.
#
# Debian's libtrilinos-kokkos-dev (3.4.01) exports Kokkos::kokkos with an include path that does not
# exist, and its version file refuses ranges across majors: hence no version in the call, and a target
# of our own made from the variables the package sets.
#
# A Kokkos with CUDA (4.7 or newer for CUDA 13), built by nvcc_wrapper or as a CMake language: the few
# files that include it are compiled as CUDA by nvcc, everything else by the C++ compiler. Its own flags
# are for a C++ compiler that is nvcc_wrapper: they are left out, as is its launcher.
include_guard()
include("${CMAKE_CURRENT_LIST_DIR}/SherdPackages.cmake")

# Sets `result` to whether the package's own target names folders in which the header is.
function(sherd_kokkos_target_is_whole result)
  set(${result} FALSE PARENT_SCOPE)
  if(NOT TARGET Kokkos::kokkos)
    return()
  endif()
  set(targets Kokkos::kokkos Kokkos::kokkoscore)
  foreach(target IN LISTS targets)
    if(TARGET ${target})
      get_target_property(paths ${target} INTERFACE_INCLUDE_DIRECTORIES)
      foreach(path IN LISTS paths)
        if(EXISTS "${path}/Kokkos_Core.hpp" OR path MATCHES "^\\$<")
          set(${result} TRUE PARENT_SCOPE)
        endif()
      endforeach()
    endif()
  endforeach()
endfunction()

# sherd::kokkos for a Kokkos with CUDA: headers and libraries without the flags.
function(sherd_add_kokkos_with_cuda)
  if(NOT SHERD_ENABLE_CUDA AND NOT CMAKE_FIND_PACKAGE_NAME STREQUAL "sherd")
    sherd_missing("Kokkos ${Kokkos_VERSION} was built with CUDA, and this build is without. Try: "
                  "-DSHERD_ENABLE_CUDA=ON, or set Kokkos_ROOT to one for CPUs")
    return()
  endif()
  find_package(CUDAToolkit REQUIRED)
  get_target_property(headers Kokkos::kokkoscore INTERFACE_INCLUDE_DIRECTORIES)
  add_library(sherd::kokkos INTERFACE IMPORTED)
  target_include_directories(sherd::kokkos INTERFACE ${headers})
  target_link_libraries(sherd::kokkos INTERFACE $<TARGET_FILE:Kokkos::kokkoscore>
                                                CUDA::cuda_driver CUDA::cudart ${CMAKE_DL_LIBS})
  sherd_found("Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}), for sm_${Kokkos_CUDA_ARCHITECTURES}")
endfunction()

# The files of a target that include Kokkos: CUDA where Kokkos has it.
function(sherd_kokkos_sources)
  if(SHERD_KOKKOS_CUDA)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
  endif()
endfunction()

# Sets SHERD_KOKKOS_CUDA, and with it SHERD_CUDA_ARCHITECTURES.
function(sherd_find_kokkos)
  if(TARGET sherd::kokkos)
    return()
  endif()
  set(Kokkos_LAUNCH_COMPILER OFF)
  set(CMAKE_CXX_EXTENSIONS OFF)  # Kokkos insists, and warns a project that leaves it open
  find_package(Kokkos CONFIG QUIET)
  if(NOT Kokkos_FOUND)
    sherd_missing("Kokkos 3.4.01 or newer was not found. Try: apt-get install libtrilinos-kokkos-dev, "
                  "or spack install kokkos, or set Kokkos_ROOT")
    return()
  endif()
  if(Kokkos_VERSION AND (Kokkos_VERSION VERSION_LESS 3.4 OR Kokkos_VERSION VERSION_GREATER_EQUAL 6))
    sherd_missing("Kokkos ${Kokkos_VERSION} is not supported (3.4.01 <= version < 6)")
    return()
  endif()
  if("CUDA" IN_LIST Kokkos_DEVICES)
    set(SHERD_KOKKOS_CUDA ON PARENT_SCOPE)
    set(SHERD_CUDA_ARCHITECTURES "${Kokkos_CUDA_ARCHITECTURES}" PARENT_SCOPE)
    sherd_add_kokkos_with_cuda()
    return()
  endif()
  sherd_kokkos_target_is_whole(whole)
  if(whole)
    add_library(sherd::kokkos INTERFACE IMPORTED)
    target_link_libraries(sherd::kokkos INTERFACE Kokkos::kokkos)
    sherd_found("Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES})")
    return()
  endif()
  sherd_add_found_library(sherd::kokkos Kokkos Kokkos_Core.hpp "trilinos_kokkoscore;kokkoscore"
                          HINTS ${Kokkos_INCLUDE_DIRS} /usr/include/trilinos ${Kokkos_LIBRARY_DIRS})
  if(TARGET sherd::kokkos)
    target_link_libraries(sherd::kokkos INTERFACE ${CMAKE_DL_LIBS})
    sherd_found("Kokkos ${Kokkos_VERSION}, its package repaired: headers in ${SHERD_Kokkos_INCLUDE}")
  endif()
endfunction()
