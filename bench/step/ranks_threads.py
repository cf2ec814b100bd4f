#!/usr/bin/env python3
"""A table of (ranks x threads): bench_step on this node for every pair, in turn, round after round.

    ranks_threads.py --bench build/ci/bench/step/bench_step --pairs 1x1 2x1 1x2 --dtypes f32 bf16 --rounds 3

Every pair trains on the same global batch (--sequences, of 256 tokens). Prints medians of tokens/s, of GFLOP/s of the
node and, with --peak GFLOPS of one core, their share of the peak; the memory of the node; and tokens/s over those of
the first pair.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def run(options, pair, dtype):
    ranks, threads = (int(number) for number in pair.split("x"))
    if options.sequences % ranks != 0:
        sys.exit(f"{options.sequences} sequences do not divide among {ranks} ranks. Try: --sequences {ranks * 4}")
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
    done = subprocess.run(["mpirun", "-n", str(ranks), options.bench, "--dtype", dtype, "--threads", str(threads),
                           "--batch", str(options.sequences // ranks), "--steps", str(options.steps), "--only-full",
                           *options.more], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench_step on {pair} failed:\n{done.stdout}{done.stderr}")
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--pairs", nargs="+", default=["2x1", "1x2", "1x1"], help="ranks x threads")
    parser.add_argument("--dtypes", nargs="+", default=["f32", "bf16"])
    parser.add_argument("--sequences", type=int, default=8, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peak", type=float, help="GFLOP/s of one core")
    parser.add_argument("more", nargs="*", help="for bench_step, behind --")
    return parser.parse_args()


def main():
    options = parse()
    print("| dtype | ranks x threads | tokens/s | GFLOP/s | of peak | MiB | over the first |\n|---|---|---|---|---|---|---|")
    for dtype in options.dtypes:
        results = {pair: [] for pair in options.pairs}
        for _ in range(options.rounds):
            for pair in options.pairs:
                results[pair].append(run(options, pair, dtype))

        def median(pair, key):
            return statistics.median(result[key] for result in results[pair])

        for pair in options.pairs:
            ranks, threads = (int(number) for number in pair.split("x"))
            rate = median(pair, "step_gflops_per_rank") * ranks
            share = f"{rate / (options.peak * ranks * threads):.2f}" if options.peak else "-"
            over = median(pair, "tokens_per_second") / median(options.pairs[0], "tokens_per_second")
            print(f"| {dtype} | {pair} | {median(pair, 'tokens_per_second'):.0f} | {rate:.0f} | {share} | "
                  f"{median(pair, 'node_mib'):.0f} | {over:.3f} |", flush=True)


if __name__ == "__main__":
    main()
