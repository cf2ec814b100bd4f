#!/usr/bin/env python3
"""Runs bench_step and a PyTorch program in alternation on the same ranks, eager and compiled, for several
shapes of a model; prints a JSON line for each shape and the ratio of sherd's median to the better one's.

    compare_torch.py --bench build/ci/bench/step/bench_step --torch peer.py --python venv/bin/python \
        --dtype bf16 --rounds 3 --shape all

The PyTorch program is started with torchrun, takes its sizes as options of the same names, --compile 0|1 and
--threads, and must print "tokens/s N".
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

SHAPES = {
    "base": dict(dim=512, layers=8, heads=8, kv=8, ffn=1376, vocab=256, seq=256, batch=4),
    "vocabulary": dict(dim=768, layers=4, heads=12, kv=12, ffn=2048, vocab=32000, seq=512, batch=1),
    "long": dict(dim=512, layers=4, heads=8, kv=8, ffn=1376, vocab=256, seq=2048, batch=1),
    "grouped": dict(dim=1024, layers=6, heads=16, kv=4, ffn=2752, vocab=256, seq=128, batch=1),
}


def environment(threads):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_MCA_hwloc_base_binding_policy="none")
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        env.pop(name, None)
    return env


def run(command, threads):
    done = subprocess.run(command, env=environment(threads), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def ours(options, shape):
    names = {"kv": "kv-heads"}
    sizes = [text for key, value in shape.items() for text in (f"--{names.get(key, key)}", str(value))]
    text = run(["mpirun", "-n", str(options.ranks), options.bench, "--dtype", options.dtype, "--steps",
                str(options.steps), "--only-full", *sizes], options.threads)
    return json.loads([x for x in text.splitlines() if x.startswith("{")][-1])["tokens_per_second"]


def peer(options, shape, compiled):
    sizes = [text for key, value in shape.items() for text in (f"--{key}", str(value))]
    text = run([options.python, "-m", "torch.distributed.run", "--nproc-per-node", str(options.ranks),
                options.torch, "--mode", options.mode, "--dtype", options.dtype, "--steps",
                str(options.steps + 2), "--compile", str(int(compiled)), "--threads", str(options.threads),
                *sizes], options.threads)
    return float(re.search(r"tokens/s (\d+)", text).group(1))


def compare(options, name):
    shape = SHAPES[name]
    rates = {program: [] for program in ["sherd", *options.peers]}
    for _ in range(options.rounds):
        for program in rates:
            rates[program].append(ours(options, shape) if program == "sherd"
                                  else peer(options, shape, program == "compiled"))
    medians = {program: statistics.median(values) for program, values in rates.items()}
    best = max(medians[program] for program in options.peers)
    print(json.dumps({"bench": "step_against_torch", "shape": name, "dtype": options.dtype,
                      "ranks": options.ranks, "threads": options.threads, "tokens_per_second": rates,
                      "ratio_of_medians_to_the_better": round(medians["sherd"] / best, 3)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--mode", default="fsdp2")
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--shape", default="base", choices=[*SHAPES, "all"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each rank, in both programs")
    parser.add_argument("--peers", nargs="+", default=["eager"], choices=["eager", "compiled"],
                        help="how PyTorch runs: as it is, with torch.compile, or both in turn")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for name in SHAPES if options.shape == "all" else [options.shape]:
        compare(options, name)


if __name__ == "__main__":
    main()
