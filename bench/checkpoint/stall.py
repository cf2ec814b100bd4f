#!/usr/bin/env python3
"""What saves cost the steps of a training, measured inside one run: `sherd train` saves every N steps, and the steps
that touch a save are compared with those that do not. Prints one JSON line.

usage: stall.py --program BUILD/bin/sherd [--size 25m|100m] [--ranks 2] [--steps 60] [--every 10] [--staging lazy|eager]
                [--tokens TOKENS_A_STEP] [--mpiexec mpiexec] [--directory DIR] [--set KEY=VALUE]...
A step *triggers* a save when it hands the state over at its end; the steps *during* it are the following ones until it
is committed: in the first of them the state is copied."""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

SIZES = {  # hidden, intermediate, layers, heads: with a vocabulary of 8192, tied
    "25m": (512, 1408, 7, 8),
    "100m": (768, 2304, 13, 12),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--size", choices=SIZES, default="25m")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--staging", default="lazy")
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--directory", help="where checkpoints go (a fresh folder below it)")
    parser.add_argument("--set", action="append", default=[])
    return parser.parse_args()


def write_text(path, count):
    rng = random.Random(1)
    path.write_bytes(bytes(rng.randrange(32, 127) for _ in range(count)))


def settings(args, folder):
    hidden, intermediate, layers, heads = SIZES[args.size]
    length = 256
    return [
        "model.vocab_size=8192", f"model.hidden_size={hidden}", f"model.intermediate_size={intermediate}",
        f"model.num_hidden_layers={layers}", f"model.num_attention_heads={heads}",
        f"model.num_key_value_heads={heads}", "model.tie_word_embeddings=true",
        f"data.text=[{folder / 'text'}]", f"data.sequence_length={length}",
        f"training.steps={args.steps}", f"training.global_batch_size={args.tokens // length}",
        f"training.micro_batch_size={args.tokens // length // args.ranks}",
        "optimizer.name=adamw", "fsdp_config.sharding_strategy=FULL_SHARD",
        f"fsdp_config.checkpoint_interval={args.every}", f"fsdp_config.checkpoint_dir={folder / 'ckpt'}",
        f"checkpoint.staging={args.staging}", "checkpoint.keep_last=2", f"logging.directory={folder / 'log'}",
        *args.set,
    ]


def run(args, folder):
    (folder / "text").mkdir()
    write_text(folder / "text" / "random.txt", 200_000)
    config = folder / "config.yaml"
    config.write_text("config_version: 1\n")
    command = [*args.mpiexec.split(), "-n", str(args.ranks), args.program, "train", str(config)]
    subprocess.run(command + settings(args, folder), check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in open(folder / "log" / "metrics.jsonl")]


def classify(lines, every):
    """Seconds of the steps that trigger a save, of those during one, of the others; the first save is left out: it makes
    the plan and takes the memory."""
    kinds = {"trigger": [], "during": [], "quiet": []}
    stall = []
    for before, line in zip(lines, lines[1:]):
        step = line["step"]
        if step <= every + 2 or step == lines[-1]["step"]:
            continue
        save = before.get("checkpoint", {})
        in_flight = save.get("phase") not in (None, "saved", "failed")
        kind = "trigger" if step % every == 0 else "during" if in_flight else "quiet"
        kinds[kind].append(line["step_seconds"])
        if step % every in (0, 1):
            stall.append(line["checkpoint_stall_seconds"])
    return kinds, stall


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(dir=args.directory) as name:
        lines = run(args, pathlib.Path(name))
    kinds, stall = classify(lines, args.every)
    medians = {kind: statistics.median(times) if times else None for kind, times in kinds.items()}
    quiet = medians["quiet"]
    print(json.dumps({
        "bench": "stall", "size": args.size, "ranks": args.ranks, "staging": args.staging, "every": args.every,
        "steps": {kind: len(times) for kind, times in kinds.items()},
        "quiet_s": round(quiet, 4),
        "trigger_over_quiet": round(medians["trigger"] / quiet, 4),
        "during_over_quiet": round(medians["during"] / quiet, 4) if kinds["during"] else None,
        "all_over_quiet": round(statistics.mean(sum(kinds.values(), [])) / statistics.mean(kinds["quiet"]), 4),
        "median_stall_s": round(statistics.median(stall), 5),
        "bytes": lines[-1].get("checkpoint", {}).get("bytes_total", 0) * args.ranks,
    }))


if __name__ == "__main__":
    main()
