#!/bin/bash
# First contact with a GPU: runs the tests that use one (NCCL at one rank a device), compares training with
# the run on the CPU, memory with the plan, overlap from events, and measures a step and a checkpoint.
# usage: bench/gpu_check.sh [BUILD_FOLDER]   (a build as docs/gpu.md makes it; default build/cuda)
# Under 10 minutes; one table. Ends with 0 when every check holds, 1 when one does not, 2 without a GPU.
# GPU_CHECK_EMULATED=1 runs all of it on the emulated device, small, to test the check itself.
set -u
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
build=${1:-$here/../build/cuda}
if [ -z "${GPU_CHECK_EMULATED:-}" ] && ! nvidia-smi -L 2> /dev/null | grep -q '^GPU'; then
  echo "gpu_check: no GPU here (nvidia-smi lists none)" >&2
  exit 2
fi
if [ ! -x "$build/bin/sherd" ]; then
  echo "gpu_check: $build/bin/sherd is not there. Try: docs/gpu.md, then $0 BUILD_FOLDER" >&2
  exit 2
fi
exec python3 "$here/device/gpu_check.py" "$(realpath "$build")"
