# Installs a build tree, moves the result to PREFIX, and looks for what users expect there.
file(REMOVE_RECURSE "${PREFIX}" "${PREFIX}.first")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${PREFIX}.first"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${PREFIX}.first" "${PREFIX}")
foreach(pattern bin/sherd include/sherd/sherd.hpp include/sherd/base/config.hpp
        lib*/cmake/sherd/sherdConfig.cmake lib*/cmake/sherd/sherdConfigVersion.cmake
        lib*/cmake/sherd/FindNCCL.cmake lib*/cmake/sherd/SherdKokkos.cmake
        lib*/pkgconfig/sherd.pc lib*/pkgconfig/sherd-io.pc
        share/sherd/jobs/train.sbatch share/sherd/jobs/slurm.sh share/sherd/jobs/scaling_table.py
        share/sherd/jobs/env/example-site.sh)
  string(REPLACE "lib*/" "lib/*/" multiarch "${pattern}")
  file(GLOB found "${PREFIX}/${pattern}" "${PREFIX}/${multiarch}")
  if(NOT found)
    message(FATAL_ERROR "${pattern} was not installed")
  endif()
endforeach()

# Nothing that is installed may name the folder it was built in or first installed to, and no text the
# sources; programs do, in messages.
file(GLOB_RECURSE files "${PREFIX}/*")
foreach(file IN LISTS files)
  set(folders "${BUILD}" "${PREFIX}.first")
  if(file MATCHES "[.](cmake|hpp|pc)$")
    list(APPEND folders "${SOURCE}/")
  endif()
  foreach(folder IN LISTS folders)
    file(STRINGS "${file}" lines REGEX "${folder}" LIMIT_COUNT 1)
    if(lines)
      message(FATAL_ERROR "${file} names ${folder}: ${lines}")
    endif()
  endforeach()
endforeach()

set(PROGRAM "${PREFIX}/bin/sherd")
include("${CMAKE_CURRENT_LIST_DIR}/gpu_libraries.cmake")
foreach(arguments IN ITEMS --version info)
  execute_process(COMMAND "${PREFIX}/bin/sherd" ${arguments} OUTPUT_VARIABLE output
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
message(STATUS "installed: ${output}")
