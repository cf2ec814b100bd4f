# sherd_add_library(name SOURCES ... [PUBLIC libs] [PRIVATE libs]): one library of the project.
include(GNUInstallDirs)

configure_file(include/sherd/base/config.hpp.in
               "${CMAKE_CURRENT_BINARY_DIR}/include/sherd/base/config.hpp" @ONLY)

add_library(sherd_flags INTERFACE)
target_compile_options(sherd_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wsign-conversion>"
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wnon-virtual-dtor;-Werror=return-type>"
  "$<$<COMPILE_LANGUAGE:C,CXX>:$<$<BOOL:${SHERD_WERROR}>:-Werror>>"
  "$<$<COMPILE_LANGUAGE:C,CXX>:$<$<BOOL:${SHERD_NATIVE}>:-march=native>>"
  # nvcc: kernels are lambdas, and call constexpr functions of the standard library
  "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra>"
  "$<$<COMPILE_LANGUAGE:CUDA>:$<$<BOOL:${SHERD_WERROR}>:--Werror=all-warnings;-Xcompiler=-Werror>>")
if(NOT SHERD_SANITIZE)  # a sanitizer's functions come from the program
  target_link_options(sherd_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>:LINKER:--no-undefined>)
endif()
if(SHERD_SANITIZE)
  target_compile_options(sherd_flags INTERFACE -fsanitize=${SHERD_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=all -g1)
  if(SHERD_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Fences are not seen by it; those of the issue log stand between atomics, which are no races.
    target_compile_options(sherd_flags INTERFACE -Wno-tsan)
  endif()
  target_link_options(sherd_flags INTERFACE -fsanitize=${SHERD_SANITIZE})
endif()

function(sherd_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} ${ARG_SOURCES})
  string(REGEX REPLACE "^sherd_" "" short ${name})
  add_library(sherd::${short} ALIAS ${name})
  target_include_directories(${name}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
           "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>"
           "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE}
                                       "$<BUILD_INTERFACE:sherd_flags>")
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short} CXX_EXTENSIONS OFF
                        DEFINE_SYMBOL "")  # nothing asks: shared objects compile as static ones do
  # Files with options of their own (the kernels) are compiled alone in any case.
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${SHERD_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 16)
  set_property(GLOBAL APPEND PROPERTY SHERD_LIBRARIES ${name})
endfunction()
