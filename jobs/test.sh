#!/bin/bash
# Installs what is missing, builds sherd and runs all of its tests, then the unit tests once more under
# the address and undefined-behaviour sanitizers. Ends with ctest's summaries; fails if anything did.
# usage: jobs/test.sh [--no-asan] [--full]
# --full: tests that choose from combinations take all of them, and the reference cases are trained in the full
# product of meshes, strategies, recomputation and micro-batches (hours).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

asan=yes
full=
for argument in "$@"; do
  case "$argument" in
    --no-asan) asan= ;;
    --full) full=yes ;;
    *)
      echo "jobs/test.sh: unknown argument '$argument'. Try: --no-asan or --full" >&2
      exit 2
      ;;
  esac
done

bash jobs/setup.sh
export SHERD_LINT_STRICT=1 CTEST_OUTPUT_ON_FAILURE=1
if [ "$full" ]; then
  export SHERD_FULL_PRODUCT=1
fi
failed=0

# run_tests FOLDER [ctest arguments]: one more at a time than there are cores, as tests wait for launchers and
# disks; a test of N ranks counts as N.
run_tests() {
  local folder=$1
  shift
  ctest --test-dir "build/$folder" --no-tests=error -j $((cores + 1)) "$@" 2>&1 |
    tee "build/$folder/ctest.log" || failed=1
}

preset=$(pick_preset)
step "configure and build ($preset)"
configure "$preset"
build "$preset"
step "all tests ($preset)"
run_tests "$preset"

if [ "$full" ]; then
  step "the reference cases in the full product"
  SHERD_PROGRAM="$PWD/build/$preset/bin/sherd" SHERD_MPIEXEC=mpiexec SHERD_TEST_DATA="$PWD/tests/data" \
    PYTHONPATH="$PWD/tests/e2e" /usr/bin/python3 -B tests/e2e/parity/parity.py --all || failed=1
fi

if [ "$asan" ]; then
  step "configure and build (asan)"
  configure asan
  build asan --target unit_tests
  step "unit tests (asan)"
  # Open MPI and hwloc keep memory until exit; leaks are not looked for, everything else is.
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 run_tests asan -L unit
fi

step summary
for log in build/"$preset"/ctest.log build/asan/ctest.log; do
  if [ -e "$log" ]; then
    echo "$log:"
    sed -n '/tests passed/,$p' "$log"
  fi
done
exit $failed
