"""Runs tests/faults/checkpoint_trial, kills it, starts it again and checks what it finds."""

import os
import signal
import subprocess
from pathlib import Path

TRIAL = os.environ.get("SHERD_TRIAL", "build/tests/faults/checkpoint_trial")
MPIEXEC = os.environ.get("SHERD_MPIEXEC", "mpiexec")
HANG_SECONDS = 120
# Ranks that outlive one that died in a collective wait for it; ten seconds will do here.
LAUNCH = {"SHERD_COMM_TIMEOUT": "10", **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
          "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


class Broken(Exception):
    """The invariant does not hold."""


class History:
    """What was begun and what was reported committed, by all programs so far."""

    def __init__(self):
        self.begun = []  # (step, seed)
        self.committed = None  # index into begun

    def hear(self, output):
        """Lines of a trial; returns what it loaded: a (step, seed), "nothing" or None."""
        loaded = None
        for line in output.splitlines():
            words = line.split()
            if line.startswith("begun"):
                self.begun.append(tuple(words[1:3]))
            elif line.startswith("committed"):
                self.note_committed(tuple(words[1:3]))
            elif line.startswith("loaded"):
                loaded = tuple(words[1:3])
                self.judge(loaded)
            elif line == "nothing":
                loaded = "nothing"
                self.judge(None)
            elif line.startswith("error"):
                raise Broken(line)
        return loaded

    def note_committed(self, save):
        self.committed = max(self.begun.index(save), self.committed or 0)

    def judge(self, save):
        if save is None:
            if self.committed is not None:
                raise Broken(f"found nothing, {self.begun[self.committed]} was reported committed")
            return
        if save not in self.begun:
            raise Broken(f"loaded {save}, which nobody saved")
        if self.committed is not None and self.begun.index(save) < self.committed:
            raise Broken(f"loaded {save}, but {self.begun[self.committed]} was reported committed")
        self.note_committed(save)  # what a program went on from must not be lost either


def command(ranks, arguments, threads=False, recover=False):
    if threads:
        return [TRIAL, arguments[0], f"threads:{ranks}", *arguments[1:]]
    return [MPIEXEC, *(["--enable-recovery"] if recover else []), "-n", str(ranks), TRIAL, *arguments]


def run(ranks, *arguments, **how):
    words = command(ranks, [str(a) for a in arguments], **how)
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=HANG_SECONDS, env=LAUNCH)
    except subprocess.TimeoutExpired as hung:
        raise Broken(f"still there after {HANG_SECONDS} s: {hung.stdout} {hung.stderr}") from hung


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def read_pids(file):
    return [int(line) for line in Path(file).read_text().split()]
