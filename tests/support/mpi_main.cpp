#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "sherd/runtime/runtime.hpp"

/// Main of every test program that runs under mpiexec: fails when any rank fails or none ran a
/// test.
int main(int argc, char** argv) {
  sherd::runtime::Runtime runtime(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  if (runtime.rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  int failed = RUN_ALL_TESTS() != 0 ? 1 : 0;
  const auto* test = testing::UnitTest::GetInstance();
  if (failed != 0) {
    for (int i = 0; i < test->total_test_suite_count(); ++i) {
      const auto* suite = test->GetTestSuite(i);
      for (int k = 0; k < suite->total_test_count(); ++k) {
        const auto* info = suite->GetTestInfo(k);
        for (int p = 0; info->result()->Failed() && p < info->result()->total_part_count(); ++p) {
          const auto& part = info->result()->GetTestPartResult(p);
          if (part.failed()) {
            std::fprintf(stderr, "[rank %d] %s.%s %s:%d: %s\n", runtime.rank(), suite->name(),
                         info->name(), part.file_name() ? part.file_name() : "?",
                         part.line_number(), part.message());
          }
        }
      }
    }
  }
  int any_failed = 0;
  MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (test->test_to_run_count() == 0) {
    std::fprintf(stderr, "no test ran\n");
    return 1;
  }
  return any_failed;
}
