"""System calls fail under the real program: training goes on, the failed save is told in one line, and the
next run finds a good checkpoint. Every place of every call is tried in tests/faults."""

import os
import unittest

from program import ProgramTest

SHIM = os.environ["SHERD_FAULT_SHIM"]


class SystemFaults(ProgramTest):
    def train(self, steps, fault=None):
        folder = self.folder / "checkpoints"
        env = {"SHERD_IO": "pwrite"}
        if fault:
            env.update(LD_PRELOAD=SHIM, SHERD_SHIM_ROOT=str(folder), SHERD_SHIM_FAULT=fault)
        return self.sherd("train", self.config(), f"fsdp_config.checkpoint_dir={folder}",
                          "fsdp_config.checkpoint_interval=3", f"training.steps={steps}", env=env)

    def test_a_save_fails_and_training_goes_on(self):
        steps = 0
        # fsync 1 to 3 of rank 0 are those of its start
        for fault, text in (("pwrite:1:EIO:1", "Input/output error"), ("fsync:4:EIO:0", "Input/output error"),
                            ("mkdir:1:ENOSPC:0", "No space left")):
            steps += 6  # two saves: the first fails
            done = self.train(steps, fault)
            self.assertEqual(done.returncode, 0, fault + done.stdout + done.stderr)
            told = [line for line in done.stdout.splitlines() if "checkpoint failed" in line]
            self.assertEqual(len(told), 1, fault + done.stdout)
            self.assertIn(text, told[0])
            if steps > 6:
                self.assertIn(f"at step {steps - 6}", done.stdout + done.stderr)
        left = sorted(path.name for path in (self.folder / "checkpoints").iterdir())
        self.assertEqual(left, ["LATEST", "step-00000006", "step-00000012", "step-00000018"])

    def test_a_mark_that_cannot_be_made_ends_the_start(self):
        done = self.train(3, "fsync:3:EIO:0")  # after the probe of the folder and the folder itself
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"rank 0: cannot sync '.*\.writer\.json': Input/output error")
        done = self.train(3)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_rank_is_killed_in_a_save(self):
        self.assertEqual(self.train(3).returncode, 0)
        killed = self.train(9, "fsync:2:kill:1")
        self.assertNotEqual(killed.returncode, 0)
        done = self.train(9)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, "resumed from .* at step [36]")


if __name__ == "__main__":
    unittest.main()
