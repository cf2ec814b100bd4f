#!/usr/bin/env python3
"""How well two threads share each kernel: kernels_bench with one thread and with several, in turn.

    threads.py --bench build/ci/bench/kernels/kernels_bench --threads 2 --rounds 3 [--filter rms_norm]

Prints, for each kernel, the least time with one thread and with several, and their ratio over the number of threads.
"""
import argparse
import json
import os
import subprocess


def times(options, threads):
    done = subprocess.run([options.bench, "--benchmark_format=json", f"--benchmark_min_time={options.min_time}",
                           f"--benchmark_filter={options.filter}"],
                          env=dict(os.environ, OMP_NUM_THREADS=str(threads)), capture_output=True, text=True, check=True)
    return {run["name"]: run["real_time"] / 1e3 for run in json.loads(done.stdout)["benchmarks"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--min-time", default="0.05")
    parser.add_argument("--filter", default=".")
    options = parser.parse_args()
    rounds = [(times(options, 1), times(options, options.threads)) for _ in range(options.rounds)]
    print(f"| kernel | 1 thread, us | {options.threads} threads, us | efficiency |\n|---|---|---|---|")
    for name in rounds[0][0]:
        one, many = (min(each[kind][name] for each in rounds) for kind in (0, 1))
        print(f"| {name} | {one:.1f} | {many:.1f} | {one / many / options.threads:.2f} |")


if __name__ == "__main__":
    main()
