# Installs a build tree into an empty prefix and looks for what users expect there.
file(REMOVE_RECURSE "${PREFIX}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${PREFIX}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(pattern bin/sherd include/sherd/sherd.hpp include/sherd/base/config.hpp
        lib*/cmake/sherd/sherdConfig.cmake lib*/cmake/sherd/sherdConfigVersion.cmake
        lib*/cmake/sherd/FindNCCL.cmake lib*/cmake/sherd/SherdKokkos.cmake)
  file(GLOB found "${PREFIX}/${pattern}" "${PREFIX}/lib/*/${pattern}")
  string(REPLACE "lib*/" "lib/*/" multiarch "${pattern}")
  file(GLOB found_multiarch "${PREFIX}/${multiarch}")
  if(NOT found AND NOT found_multiarch)
    message(FATAL_ERROR "${pattern} was not installed")
  endif()
endforeach()

# Nothing that is installed may name the folder it was built in.
file(GLOB_RECURSE texts "${PREFIX}/*.cmake" "${PREFIX}/*.hpp" "${PREFIX}/*.pc")
foreach(file IN LISTS texts)
  file(STRINGS "${file}" lines REGEX "${BUILD}")
  if(lines)
    message(FATAL_ERROR "${file} names the build folder: ${lines}")
  endif()
endforeach()

execute_process(COMMAND "${PREFIX}/bin/sherd" --version OUTPUT_VARIABLE version
                COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "installed: ${version}")
