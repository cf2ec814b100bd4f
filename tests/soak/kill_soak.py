#!/usr/bin/env python3
"""A program that saves without pause is killed at random moments, again and again in the same directory, and
must each time go on from the newest checkpoint it had reported committed, or a newer one.

  SHERD_TRIAL=build/tests/faults/checkpoint_trial tests/soak/kill_soak.py [--iterations 200] [--seed 1]
      [--mpi]     ranks are processes; sometimes only one of them is killed
      [--folder F]  where the checkpoints go; default: memory"""

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from trial import HANG_SECONDS, LAUNCH, Broken, History, command, kill, read_pids


def one_life(folder, history, chance, mpi):
    ranks = chance.randint(1, 4)
    first = 1 + max((int(step) for step, _ in history.begun), default=0)
    pids = Path(folder) / "pids"
    pids.unlink(missing_ok=True)
    arguments = [f"{folder}/checkpoints", "keep:2", "timeout:60", f"pids:{pids}", "load", f"saves:{first}"]
    errors = tempfile.TemporaryFile("w+")
    process = subprocess.Popen(command(ranks, arguments, threads=not mpi), stdout=subprocess.PIPE,
                               stderr=errors, text=True, env=LAUNCH)
    watchdog = threading.Timer(HANG_SECONDS, process.kill)
    watchdog.start()
    heard = process.stdout.readline()  # what it loaded: from here on it saves
    time.sleep(chance.uniform(0.0, 0.12))
    victims = read_pids(pids) if heard else []
    for pid in set([chance.choice(victims)] if victims and mpi and chance.random() < 0.5 else victims):
        kill(pid)
    rest = process.stdout.read()
    process.wait()
    watchdog.cancel()
    if history.hear(heard + rest) is None:
        errors.seek(0)
        raise Broken(f"it did not start: {heard}{rest}{errors.read()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--folder", default="/dev/shm")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    history = History()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sherd-soak-", dir=options.folder) as folder:
        for life in range(options.iterations):
            try:
                one_life(folder, history, chance, options.mpi)
            except Broken as problem:
                print(f"BROKEN in life {life}: {problem}")
                return 1
    print(f"{options.iterations} lives, {len(history.begun)} saves begun, last committed "
          f"{history.begun[history.committed]}, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
