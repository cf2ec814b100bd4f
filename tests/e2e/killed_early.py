"""Runs killed at early moments leave no shared memory behind: what they shared has no name."""

import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

from program import MPIEXEC, PROGRAM, ProgramTest

KILLS = 4


def shared_files():
    """Ours, and windows of Open MPI; its segments for messages lie elsewhere in this test."""
    return {name for name in os.listdir("/dev/shm") if name.startswith("sherd-") or "osc" in name}


def ranks_below(pid):
    found, waiting = [], [pid]
    while waiting:
        children = Path(f"/proc/{waiting.pop()}/task").glob("*/children")
        for file in children:
            try:
                numbers = [int(word) for word in file.read_text().split()]
            except OSError:  # ended meanwhile
                continue
            found += numbers
            waiting += numbers
    return found


class KilledEarly(ProgramTest):
    def test_nothing_stays(self):
        before = shared_files()
        chance = random.Random(12)
        config = self.config()
        for _ in range(KILLS):
            with subprocess.Popen([MPIEXEC, "-n", "3", PROGRAM, "train", config, "training.steps=1000"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder,
                                  env={**os.environ, "OMPI_MCA_btl_vader_backing_directory": str(self.folder)}
                                  ) as launcher:
                moment = time.monotonic() + chance.uniform(0.2, 1.0)
                while time.monotonic() < moment and launcher.poll() is None:
                    os.sched_yield()
                for pid in [launcher.pid, *ranks_below(launcher.pid)]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                launcher.stdout.read()  # ends when the last of them has
            self.assertEqual(shared_files() - before, set())


if __name__ == "__main__":
    unittest.main()
