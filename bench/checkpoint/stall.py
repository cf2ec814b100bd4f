#!/usr/bin/env python3
"""What saves cost the steps of a training, measured inside one run: `sherd train` saves every N steps, and the steps
that touch a save are compared with those around them. Prints one JSON line.

usage: stall.py --program BUILD/bin/sherd [--size 25m|100m] [--ranks 2] [--steps 60] [--every 10] [--staging lazy|eager]
                [--tokens TOKENS_A_STEP] [--mpiexec mpiexec] [--directory DIR] [--set KEY=VALUE]...
A step *triggers* a save when it hands the state over at its end; *during* the next one the state is copied and written
(on these sizes the save is over before it ends)."""

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
    """For each save: how long the step that triggers it and the next one, in which the state is copied, took, over the
    mean of the steps around them (speed drifts within a run); and what both say they lost. The first save is left out:
    it makes the plan and takes the memory."""
    seconds = {line["step"]: line["step_seconds"] for line in lines}
    stalls = {line["step"]: line["checkpoint_stall_seconds"] for line in lines}
    trigger, during, lost = [], [], []
    for step in range(2 * every, lines[-1]["step"] - 3, every):
        around = [seconds[other] for other in (step - 3, step - 2, step - 1, step + 2, step + 3, step + 4)
                  if other in seconds]
        base = statistics.mean(around)
        trigger.append(seconds[step] / base)
        during.append(seconds[step + 1] / base)
        lost.append(stalls[step] + stalls[step + 1])
    return trigger, during, lost


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(dir=args.directory) as name:
        lines = run(args, pathlib.Path(name))
    trigger, during, lost = classify(lines, args.every)
    print(json.dumps({
        "bench": "stall", "size": args.size, "ranks": args.ranks, "staging": args.staging, "every": args.every,
        "saves": len(trigger), "step_s": round(statistics.median(line["step_seconds"] for line in lines), 4),
        "trigger": round(statistics.median(trigger), 4), "during": round(statistics.median(during), 4),
        "triggers": [round(ratio, 3) for ratio in trigger], "durings": [round(ratio, 3) for ratio in during],
        "stall_s": round(statistics.median(lost), 5),
        "bytes": lines[-1].get("checkpoint", {}).get("bytes_total", 0) * args.ranks,
    }))


if __name__ == "__main__":
    main()
