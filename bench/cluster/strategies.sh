#!/bin/bash
# Step time, bytes on the wire and planned bytes of FULL_SHARD, HYBRID_SHARD and
# HYBRID_SHARD_FULL_OPTIM at 1 and 4 micro-batches, on two nodes of two ranks with 1 Gbit/s between
# them. As root. usage: bench/cluster/strategies.sh BUILD_FOLDER [options of bench_strategies]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${1:?usage: strategies.sh BUILD_FOLDER [options of bench_strategies]}/bench/cluster/bench_strategies
shift
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
exec "$here/../../tests/cluster/two_nodes.py" --ranks-per-node "${RANKS_PER_NODE:-2}" \
  --rate "${RATE:-1gbit}" -- "$program" "$@"
