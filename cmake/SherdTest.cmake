# sherd_add_test(NAME module.thing SOURCES a.cpp ... [NP 1 2 4] [LIBS sherd::x] [LABELS l] [TIMEOUT s])
# makes one GoogleTest program. Without NP it runs as a plain process (a unit test); with NP it runs
# under mpiexec once for each number, as module.thing.np4, oversubscribed and as root if need be.
# A program that runs no test fails (tests/support/*_main.cpp see to it).
find_package(GTest REQUIRED)
add_custom_target(unit_tests)  # builds every program that runs without a launcher

set(SHERD_MPI_ENV OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
    OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=1 SHERD_COMM_TIMEOUT=100)

# Seconds of the long tests. ctest starts the longest first, so that none is left alone at the end; after
# the first run in a build folder it goes by what it measured.
set(SHERD_TEST_COSTS
    cluster.slurm_preemption 76 cluster.slurm_faults 54 cluster.slurm_launch 22 cluster.slurm_link 15
    e2e.parity.np6 71 e2e.parity.np4 29 e2e.parity.np8 23 e2e.parity.np2 20 e2e.parity.np3 17 e2e.parity.np1 17
    e2e.bitwise.np2 67 e2e.bitwise.np3 34 e2e.bitwise.np1 34 e2e.resume 32 e2e.info 25 e2e.divergence 23
    e2e.path_table 20 e2e.dealt_out 17 e2e.command_line 16 e2e.bad_input.np1 15 e2e.system_faults 14 e2e.stop 13
    fsdp.sharded_equals_unsharded 38 fsdp.lifecycle 36 fsdp.hazards 31 faults.power_loss 27 io.checkpoint 16)

add_library(sherd_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/unit_main.cpp)
target_link_libraries(sherd_test_main PUBLIC GTest::gtest sherd_flags)
add_library(sherd_test_main_mpi OBJECT ${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp)
target_link_libraries(sherd_test_main_mpi PUBLIC GTest::gtest sherd_flags sherd::runtime MPI::MPI_C)

# GoogleTest's headers cost seconds a file: with SHERD_QUICK_TEST_BUILD they are parsed once for all test
# programs, whose own code is not optimised (the libraries are). An executable, because objects of
# libraries are compiled with other flags.
if(SHERD_QUICK_TEST_BUILD)
  set(SHERD_TEST_FLAGS -O0)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_pch.cpp" CONTENT "int main() {}\n")
  add_executable(sherd_test_pch "${PROJECT_BINARY_DIR}/test_pch.cpp")
  target_link_libraries(sherd_test_pch PRIVATE sherd_flags GTest::gmock)
  target_compile_definitions(sherd_test_pch PRIVATE _GLIBCXX_ASSERTIONS)
  target_compile_options(sherd_test_pch PRIVATE ${SHERD_TEST_FLAGS})
  target_precompile_headers(sherd_test_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

function(sherd_add_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT;LABELS" "SOURCES;NP;LIBS;ENV" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  string(REPLACE "." "_" target "test_${ARG_NAME}")
  add_executable(${target} ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src"
                                               "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS
                             SHERD_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  if(SHERD_QUICK_TEST_BUILD)
    target_compile_options(${target} PRIVATE ${SHERD_TEST_FLAGS})
    target_precompile_headers(${target} REUSE_FROM sherd_test_pch)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  if(NOT ARG_NP)
    target_link_libraries(${target} PRIVATE sherd_test_main ${ARG_LIBS} GTest::gmock)
    add_test(NAME ${ARG_NAME} COMMAND ${target})
    add_dependencies(unit_tests ${target})
    sherd_test_properties(${ARG_NAME} 1 ${ARG_TIMEOUT} "unit;${ARG_LABELS}" "${ARG_ENV}")
    return()
  endif()
  target_link_libraries(${target} PRIVATE sherd_test_main_mpi ${ARG_LIBS} GTest::gmock)
  foreach(np IN LISTS ARG_NP)
    add_test(NAME ${ARG_NAME}.np${np}
             COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${np} $<TARGET_FILE:${target}>)
    sherd_test_properties(${ARG_NAME}.np${np} ${np} ${ARG_TIMEOUT} "mpi;${ARG_LABELS}" "${ARG_ENV}")
  endforeach()
endfunction()

# Open MPI 4.1 fails now and then ("File exists", session_dir.c) when one launch makes its session folder
# while another removes the one above: every test has a folder of its own for that.
function(sherd_test_properties name processors timeout labels env)
  string(MD5 own "${PROJECT_BINARY_DIR} ${name}")
  string(SUBSTRING "${own}" 0 10 own)
  list(FIND SHERD_TEST_COSTS ${name} at)
  if(at GREATER_EQUAL 0)
    math(EXPR at "${at} + 1")
    list(GET SHERD_TEST_COSTS ${at} cost)
    set_tests_properties(${name} PROPERTIES COST ${cost})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} PROCESSORS ${processors}
                       LABELS "${labels}"
                       ENVIRONMENT "${SHERD_MPI_ENV};OMPI_MCA_orte_tmpdir_base=/tmp/sherd-tests-${own};${env}")
endfunction()
