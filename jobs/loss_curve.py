"""loss_curve.py METRICS TEXT...: the losses of a run beside the bigram entropy of its text, which is what
a model that sees one byte back can reach. Fails unless the end is well under it."""

import json
import math
import sys
from collections import Counter
from pathlib import Path


def bigram_entropy(data):
    """Mean of -log p(next byte | byte), in nats, with the text's own frequencies."""
    pairs, firsts = Counter(zip(data, data[1:])), Counter(data[:-1])
    return sum(n * math.log(firsts[a] / n) for (a, _), n in pairs.items()) / (len(data) - 1)


def main():
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    losses = {record["step"]: record["loss"] for record in map(json.loads, lines)}
    entropy = bigram_entropy(b"".join(Path(name).read_bytes() for name in sys.argv[2:]))
    steps = sorted(losses)
    shown = sorted({steps[i * (len(steps) - 1) // 14] for i in range(15)})
    for step in shown:
        near = [losses[s] for s in steps if abs(s - step) < 10]
        mean = sum(near) / len(near)
        print(f"step {step:6}  loss {mean:.3f}  {'#' * round(mean * 12)}")
    final = sum(losses[s] for s in steps[-20:]) / len(steps[-20:])
    print(f"bigram entropy {entropy:.3f}  {'|':>{max(1, round(entropy * 12))}}")
    print(f"the last {len(steps[-20:])} steps: {final:.3f} nats a byte, {entropy - final:.3f} below")
    return 0 if final < entropy - 0.2 else 1


if __name__ == "__main__":
    sys.exit(main())
