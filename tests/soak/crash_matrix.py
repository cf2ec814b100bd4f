#!/usr/bin/env python3
"""Every crash point x rank {0, last} x {one rank dies and the launcher ends the rest, one dies and the rest
lives on, all die}, under mpiexec; then a restart on the same and on another number of ranks.

  SHERD_TRIAL=build/tests/faults/checkpoint_trial tests/soak/crash_matrix.py [--quick]

Prints a line a case; exits with 1 when a load did not find the newest checkpoint reported committed, or a
newer complete one, bit for bit."""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from trial import Broken, History, run

RANKS = 3
OTHER_RANKS = 2
DEATHS = ("one", "one, rest lives", "all")
NOTICED = ("did not commit within", "did not finish writing within", "could not save its part",
           "was not made within")
ONLY = os.environ.get("SHERD_MATRIX_ONLY")  # one place
QUICK = (("after_vote", RANKS - 1, "one"), ("during_write", 0, "one, rest lives"),
         ("before_rename", 0, "all"), ("during_swap", 0, "one"))


def places():
    """[(name, scope)] as the program knows them."""
    lines = run(1, "-", "places", threads=True).stdout.split("\n")
    return [tuple(line.split()) for line in lines if line]


def cases(quick):
    scopes = dict(places())
    if quick:
        return [(place, scopes[place], rank, death) for place, rank, death in QUICK]
    found = []
    for place, scope in scopes.items():
        for rank in (0, RANKS - 1) if scope == "every_rank" else (0,):
            found += [(place, scope, rank, death) for death in DEATHS]
    return found


def crash(folder, place, scope, rank, death):
    arguments = [folder, "keep:2", "timeout:3"]
    arguments += ["kill_all"] if death == "all" else []
    arguments += ["leave"] if death == "one, rest lives" else []
    arguments += ["overwrite"] if scope == "overwrite" else []
    step = 2 if scope == "overwrite" else 3
    return run(RANKS, *arguments, "save:1:1", "save:2:2", f"crash:{place}:{rank}", f"save:{step}:90",
               recover=death == "one, rest lives")


def try_case(folder, place, scope, rank, death):
    history = History()
    died = crash(folder / "lived", place, scope, rank, death)
    history.hear(died.stdout)
    survived = death == "one, rest lives"
    if (died.returncode == 0) != survived or history.committed is None or len(history.begun) != 3:
        raise Broken(f"it did not die there: {died.stdout} {died.stderr}")
    others = [line for line in (died.stdout + died.stderr).splitlines() if "failed" in line]
    # Rank 0 also dies in the midst of a collective, and when the others have seen the commit already.
    background = rank > 0 or place in ("after_structure", "during_write", "before_vote", "before_rename")
    if survived and background and history.committed < 2 and not any(text in line for line in others for text in NOTICED):
        raise Broken(f"the other ranks did not notice: {died.stdout} {died.stderr}")
    for ranks in (RANKS, OTHER_RANKS):
        again = folder / f"again-{ranks}"
        shutil.copytree(folder / "lived", again)
        told = History()
        told.begun, told.committed = list(history.begun), history.committed
        done = run(ranks, again, "load", "save:4:4", "load")
        if done.returncode != 0 or told.hear(done.stdout) != ("4", "4"):
            raise Broken(f"on {ranks} ranks: {done.stdout} {done.stderr}")


def main():
    start = time.monotonic()
    broken = 0
    listed = cases("--quick" in sys.argv)
    listed = [case for case in listed if ONLY in (None, case[0])]
    for case in listed:
        with tempfile.TemporaryDirectory(prefix="sherd-matrix-", dir="/dev/shm") as folder:
            try:
                try_case(Path(folder), *case)
                print("good  ", *case, flush=True)
            except Broken as problem:
                broken += 1
                print("BROKEN", *case, problem, flush=True)
    print(f"{len(listed)} cases, {broken} broken, {time.monotonic() - start:.0f} s")
    return 1 if broken or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
