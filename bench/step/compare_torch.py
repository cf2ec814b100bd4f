#!/usr/bin/env python3
"""Runs bench_step and a PyTorch program in alternation on the same ranks; prints the ratio of medians.

    compare_torch.py --bench build/ci/bench/step/bench_step --torch peer.py --python venv/bin/python \
        --dtype bf16 --rounds 3

The PyTorch program is started with torchrun and must print "tokens/s N".
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys


def environment():
    env = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_MCA_hwloc_base_binding_policy="none")
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        env.pop(name, None)
    return env


def run(command):
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def ours(options):
    text = run(["mpirun", "-n", str(options.ranks), options.bench, "--dtype", options.dtype,
                "--steps", str(options.steps), "--only-full"])
    line = [x for x in text.splitlines() if x.startswith("{")][-1]
    return json.loads(line)["tokens_per_second"]


def peer(options):
    text = run([options.python, "-m", "torch.distributed.run", "--nproc-per-node",
                str(options.ranks), options.torch, "--mode", options.mode, "--dtype", options.dtype,
                "--steps", str(options.steps + 2)])
    return float(re.search(r"tokens/s (\d+)", text).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--mode", default="fsdp2")
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sherd_rates, peer_rates = [], []
    for _ in range(options.rounds):
        sherd_rates.append(ours(options))
        peer_rates.append(peer(options))
    print(json.dumps({"bench": "step_against_torch", "dtype": options.dtype, "ranks": options.ranks,
                      "sherd_tokens_per_second": sherd_rates, "torch_tokens_per_second": peer_rates,
                      "ratio_of_medians": round(statistics.median(sherd_rates) /
                                                statistics.median(peer_rates), 3)}))


if __name__ == "__main__":
    main()
