#!/usr/bin/env python3
"""The table of a scaling measurement: scaling_table.py FOLDER, with the runs in FOLDER/KIND-NODES/.

tok/s: the median over the steps of a run but the first few, of all ranks together. Efficiency: against
the run of its kind on fewest nodes, tok/s per node.
"""
import json
import re
import statistics
import sys
from pathlib import Path

WARM_UP = 5  # steps left out, or half of a shorter run


def read_run(folder):
    """(step milliseconds, tokens a second) of one run."""
    with open(folder / "metrics.jsonl", encoding="utf-8") as file:
        steps = [json.loads(line) for line in file if line.strip()]
    steps = steps[min(WARM_UP, len(steps) // 2):]
    return (1000 * statistics.median(step["step_seconds"] for step in steps),
            statistics.median(step["tokens_per_second"] for step in steps))


def read_runs(folder):
    """{kind: {nodes: (ms, tok/s)}} of the runs that left metrics."""
    runs = {}
    for path in Path(folder).glob("*-*"):
        name = re.fullmatch(r"(strong|weak)-(\d+)", path.name)
        if name and (path / "metrics.jsonl").exists():
            runs.setdefault(name.group(1), {})[int(name.group(2))] = read_run(path)
    return runs


def table(runs):
    lines = [f"{'':8}{'nodes':>6}{'ms/step':>12}{'tok/s':>14}{'tok/s/node':>14}{'efficiency':>12}"]
    for kind in sorted(runs):
        first = min(runs[kind])
        base = runs[kind][first][1] / first
        for nodes, (milliseconds, rate) in sorted(runs[kind].items()):
            lines.append(f"{kind:8}{nodes:6}{milliseconds:12.1f}{rate:14,.0f}{rate / nodes:14,.0f}"
                         f"{rate / nodes / base:12.0%}")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = read_runs(sys.argv[1])
    if not found:
        sys.exit(f"{sys.argv[1]} holds no run with metrics (looked for strong-N/ and weak-N/metrics.jsonl)")
    print(table(found))
