# Finds Kokkos 3.4.01 up to 5.x and offers it as sherd::kokkos. Used by the build and, installed, by
# sherdConfig.cmake.
#
# Debian's libtrilinos-kokkos-dev (3.4.01) exports Kokkos::kokkos with an include path that does not
# exist, and its version file refuses ranges across majors: hence no version in the call, and a target
# of our own made from the variables the package sets.
function(sherd_find_kokkos)
  if(TARGET sherd::kokkos)
    return()
  endif()
  find_package(Kokkos CONFIG QUIET)
  if(NOT Kokkos_FOUND)
    message(FATAL_ERROR "sherd needs Kokkos 3.4.01 or newer. Try: apt-get install "
                        "libtrilinos-kokkos-dev, or spack install kokkos, or set Kokkos_ROOT")
  endif()
  if(Kokkos_VERSION AND (Kokkos_VERSION VERSION_LESS 3.4 OR Kokkos_VERSION VERSION_GREATER_EQUAL 6))
    message(FATAL_ERROR "Kokkos ${Kokkos_VERSION} is not supported (3.4.01 <= version < 6)")
  endif()
  add_library(sherd_kokkos INTERFACE)
  add_library(sherd::kokkos ALIAS sherd_kokkos)
  set_target_properties(sherd_kokkos PROPERTIES EXPORT_NAME kokkos)
  if(TARGET Kokkos::kokkos)
    get_target_property(paths Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  endif()
  set(broken TRUE)
  foreach(path IN LISTS paths)
    if(EXISTS "${path}/Kokkos_Core.hpp" OR path MATCHES "^\\$<")
      set(broken FALSE)
    endif()
  endforeach()
  if(broken)
    find_path(SHERD_KOKKOS_INCLUDE Kokkos_Core.hpp
              HINTS ${Kokkos_INCLUDE_DIRS} /usr/include/trilinos REQUIRED)
    find_library(SHERD_KOKKOS_LIBRARY NAMES trilinos_kokkoscore kokkoscore
                 HINTS ${Kokkos_LIBRARY_DIRS} REQUIRED)
    find_package(Threads REQUIRED)
    target_include_directories(sherd_kokkos SYSTEM INTERFACE "$<BUILD_INTERFACE:${SHERD_KOKKOS_INCLUDE}>")
    target_link_libraries(sherd_kokkos INTERFACE "$<BUILD_INTERFACE:${SHERD_KOKKOS_LIBRARY}>"
                                                 ${CMAKE_DL_LIBS})
    message(STATUS "Kokkos ${Kokkos_VERSION}: package repaired, headers in ${SHERD_KOKKOS_INCLUDE}")
  else()
    target_link_libraries(sherd_kokkos INTERFACE Kokkos::kokkos)
    message(STATUS "Kokkos ${Kokkos_VERSION}")
  endif()
endfunction()
