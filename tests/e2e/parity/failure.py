"""A rank that fails or is killed takes the job down within seconds, and says so."""

import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from reference_run import ReferenceTest
from program import MPIEXEC, NP, PROGRAM, children_of

SECONDS_TO_END = 10


class Failure(ReferenceTest):
    def test_one_rank_throws_in_forward(self):
        self.reference_config()
        for backend in ("auto", "mpi"):
            with self.subTest(backend=backend):
                shutil.rmtree(self.folder / "ckpt", ignore_errors=True)
                start = time.monotonic()
                output = self.train(f"fsdp_config.comm_backend={backend}", np=NP,
                                    env={"SHERD_TEST_THROW": "1:3"}, expect=None)
                self.assertLess(time.monotonic() - start, SECONDS_TO_END, output)
                self.assertIn("[rank 1", output)
                self.assertIn("forward of step 3 failed", output)
                self.assertIn("train/run.cpp:", output)

    def test_killed_while_writing_leaves_the_older_checkpoint(self):
        self.reference_config()
        self.train("training.steps=5", np=2)
        process = subprocess.Popen(
            [MPIEXEC, "-n", "2", PROGRAM, "train", "run.yaml"], cwd=self.folder,
            env={**os.environ, "SHERD_TEST_WRITE_BYTES_PER_SECOND": "20000"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if list((self.folder / "ckpt").glob(".tmp-step-00000010-*/shards/*")):
                break
            time.sleep(0.02)
        self.kill_all(process)
        self.assertTrue(list((self.folder / "ckpt").glob(".tmp-step-00000010-*")))
        output = self.train(np=3)
        self.assertIn("at step 5", output)
        self.assertEqual([line["step"] for line in self.metrics()], list(range(1, 11)))
        self.assertFalse(list((self.folder / "ckpt").glob(".tmp-*")))

    def kill_all(self, process):
        """SIGKILL to the launcher and to every rank it started."""
        ranks = children_of(process.pid)
        self.assertGreaterEqual(len(ranks), 2)
        os.kill(process.pid, signal.SIGKILL)
        for pid in ranks:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
        process.stdout.close()
        deadline = time.monotonic() + 30
        while any(self.is_alive(pid) for pid in ranks):
            self.assertLess(time.monotonic(), deadline, "the killed ranks live on")
            time.sleep(0.02)

    @staticmethod
    def is_alive(pid):
        """Zombies are dead: their parent has not looked yet."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"


if __name__ == "__main__":
    unittest.main()
