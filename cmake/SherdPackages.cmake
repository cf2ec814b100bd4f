# The small libraries: oneDNN, hwloc, yaml-cpp, CLI11, fmt, spdlog, nlohmann-json, xxHash, each under
# one target name whatever its version calls it. Used by the build and, installed, by
# sherdConfig.cmake: helper targets are imported ones, so an exported library names them and the
# installed package makes them again.
include_guard()

# What is missing ends the build's configuration; inside find_package(sherd) it makes that fail.
function(sherd_missing)
  string(CONCAT text ${ARGV})
  if(CMAKE_FIND_PACKAGE_NAME STREQUAL "sherd")
    set_property(GLOBAL APPEND_STRING PROPERTY SHERD_MISSING "${text}\n")
  else()
    message(FATAL_ERROR "${text}")
  endif()
endfunction()

function(sherd_found text)
  if(NOT CMAKE_FIND_PACKAGE_NAME STREQUAL "sherd")
    message(STATUS "${text}")
  endif()
endfunction()

# sherd_add_found_library(target NAME header libraries [HINTS folders...]): an imported target from a
# header and a library that have no CMake package.
function(sherd_add_found_library target name header libraries)
  cmake_parse_arguments(ARG "" "" "HINTS" ${ARGN})
  if(TARGET ${target})
    return()
  endif()
  find_path(SHERD_${name}_INCLUDE ${header} HINTS ${ARG_HINTS})
  find_library(SHERD_${name}_LIBRARY NAMES ${libraries} HINTS ${ARG_HINTS})
  mark_as_advanced(SHERD_${name}_INCLUDE SHERD_${name}_LIBRARY)
  if(NOT SHERD_${name}_INCLUDE OR NOT SHERD_${name}_LIBRARY)
    sherd_missing("${name} (${header}) was not found. Try: jobs/setup.sh, or set ${name}_ROOT or "
                  "CMAKE_PREFIX_PATH")
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} INTERFACE "${SHERD_${name}_INCLUDE}")
  target_link_libraries(${target} INTERFACE "${SHERD_${name}_LIBRARY}")
endfunction()

# What the libraries link, and in the build itself also what only the program links.
function(sherd_find_packages)
  set(packages dnnl fmt spdlog nlohmann_json yaml-cpp)
  if(NOT CMAKE_FIND_PACKAGE_NAME STREQUAL "sherd")
    list(APPEND packages CLI11)
  endif()
  foreach(package IN LISTS packages)
    find_package(${package} CONFIG QUIET)
    if(NOT ${package}_FOUND)
      sherd_missing("${package} was not found. Try: jobs/setup.sh, or add its folder to "
                    "CMAKE_PREFIX_PATH")
    endif()
  endforeach()
  if(TARGET yaml-cpp AND NOT TARGET yaml-cpp::yaml-cpp)  # 0.7 calls it yaml-cpp
    add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
    target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
  endif()
  sherd_add_found_library(sherd::hwloc hwloc hwloc.h hwloc)
  sherd_add_found_library(sherd::xxhash xxhash xxhash.h xxhash)
  if(SHERD_ENABLE_IO_URING)
    sherd_add_found_library(sherd::liburing liburing liburing.h uring)
  endif()
endfunction()
