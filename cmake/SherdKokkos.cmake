# Finds Kokkos 3.4.01 up to 5.x and offers it as sherd::kokkos. Used by the build and, installed, by
# sherdConfig.cmake.
#
# Debian's libtrilinos-kokkos-dev (3.4.01) exports Kokkos::kokkos with an include path that does not
# exist, and its version file refuses ranges across majors: hence no version in the call, and a target
# of our own made from the variables the package sets.
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

function(sherd_find_kokkos)
  if(TARGET sherd::kokkos)
    return()
  endif()
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
