# Every option of the build. ON means required (configure fails when it cannot be had), OFF means not
# looked for.
include(CMakeDependentOption)

option(BUILD_SHARED_LIBS "Build shared libraries" OFF)
option(SHERD_ENABLE_CUDA "Compile the CUDA parts (needs the toolkit)" OFF)
cmake_dependent_option(SHERD_ENABLE_NCCL "Collectives between GPUs by NCCL (needs NCCL)" ON
                       "SHERD_ENABLE_CUDA" OFF)
option(SHERD_ENABLE_IO_URING "Write checkpoints with io_uring where the kernel has it (needs liburing)"
       ON)
option(SHERD_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SHERD_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SHERD_QUICK_TEST_BUILD "Compile tests faster: precompiled headers, one unit a program, unoptimised" OFF)
option(SHERD_UNITY_BUILD "Compile many files of a library as one" OFF)
option(SHERD_BUILD_BENCH "Build the benchmarks" OFF)
option(SHERD_WERROR "Treat warnings as errors" OFF)
option(SHERD_NATIVE "Compile for the instruction set of this machine (not portable)" OFF)
option(SHERD_FUZZ "Build a libFuzzer program for every reader of foreign files (needs clang)" OFF)
set(SHERD_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (address,undefined)")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
