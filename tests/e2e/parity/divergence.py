"""Ranks that do not do the same: all end within seconds and say alike what happened; where that is
right (a rank without data), they go on."""

import re
import shutil
import time
import unittest
from pathlib import Path

from reference_run import ReferenceTest

SECONDS_TO_END = 10
STEP = 3  # of the fault
PLACES = {"one node": (3, {}), "two nodes": (4, {"SHERD_TEST_NODES": "2"})}
GUILTY = 1


class Divergence(ReferenceTest):
    def everywhere(self, test):
        """Calls test(np, env) for one node, whose ranks share memory, and for two."""
        for name, (np, env) in PLACES.items():
            with self.subTest(place=name):
                for folder in ("ckpt", "run"):
                    shutil.rmtree(self.folder / folder, ignore_errors=True)
                self.reference_config()
                test(np, env)

    def run_to_the_fault(self, np, env, *overrides):
        """Trains until the fault; returns the exit code and what was printed."""
        done = self.sherd("train", "run.yaml", *overrides, np=np, env=env)
        end = time.time()
        output = done.stdout + done.stderr
        # A line is written at the end of its step: the fault was not before the last one.
        fault = (self.folder / "run" / "metrics.jsonl").stat().st_mtime
        self.assertLess(end - fault, SECONDS_TO_END, output)
        self.assertEqual([line["step"] for line in self.metrics()], list(range(1, STEP)), output)
        self.assert_nothing_runs()
        return done.returncode, output

    def diverge(self, how, np, env):
        """A fault that the ranks prove by comparing what they issued: without it they would wait
        for SHERD_COMM_TIMEOUT, which is longer."""
        code, output = self.run_to_the_fault(np, {**env, "SHERD_TEST_DIVERGE": f"{how}:{GUILTY}:{STEP}"})
        self.assertNotEqual(code, 0, output)
        # Who came to speak before the end may not have heard of all ranks, but says the same.
        said = set(re.findall(rf"error: rank {GUILTY} issued (\S+ as number \d+), "
                              r"ranks? [\d, ]+ (\S+) \(all ranks must", output))
        self.assertEqual(len(said), 1, output)
        return said.pop()

    def assert_nothing_runs(self):
        deadline = time.monotonic() + SECONDS_TO_END
        while left := [pid for pid in Path("/proc").glob("[0-9]*") if self.works_here(pid)]:
            self.assertLess(time.monotonic(), deadline, f"{left} live on")
            time.sleep(0.02)

    def works_here(self, process):
        try:
            return (process / "cwd").resolve(strict=True) == self.folder.resolve()
        except OSError:  # ended, a zombie, or not ours
            return False

    def test_a_rank_skips_a_layer(self):
        def test(np, env):
            _, others = self.diverge("skip_layer", np, env)
            self.assertEqual(others, "all_gather(layers.0)")
        self.everywhere(test)

    def test_a_rank_runs_an_extra_micro_batch(self):
        def test(np, env):
            _, others = self.diverge("extra_micro_batch", np, env)
            self.assertEqual(others, "clip_grad_norm")
        self.everywhere(test)

    def test_a_rank_throws(self):
        def test(np, env):
            code, output = self.run_to_the_fault(np, {**env, "SHERD_TEST_THROW": f"{GUILTY}:{STEP}"})
            self.assertNotEqual(code, 0, output)
            self.assertIn(f"[rank {GUILTY}", output)
            self.assertIn(f"forward of step {STEP} failed", output)
        self.everywhere(test)

    def test_a_rank_has_not_a_number(self):
        """All stop before the update, name its place, and the last checkpoint is as it was."""
        def test(np, env):
            self.train("training.steps=2", np=np, env=env)
            before = self.files("ckpt")
            self.assertTrue(before)
            code, output = self.run_to_the_fault(np, {**env, "SHERD_TEST_DIVERGE": f"nan:{GUILTY}:{STEP}"})
            self.assertEqual(code, 2, output)
            self.assertRegex(output, rf"step {STEP}: loss nan and gradient norm nan .*the first bad "
                                     rf"gradient is \S+\[\d+\], from rank {GUILTY}, micro-batch 0")
            self.assertEqual(self.files("ckpt"), before)
        self.everywhere(test)

    def test_ranks_without_data_go_on(self):
        few = ("training.global_batch_size=2", "training.steps=4")
        self.reference_config()
        self.train(*few, np=1)
        oracle = self.metrics()

        def test(np, env):
            self.train(*few, np=np, env=env)
            lines = self.metrics()
            self.assertEqual([line["step"] for line in lines], [1, 2, 3, 4])
            for line, expected in zip(lines, oracle):
                for key in ("loss", "grad_norm"):
                    self.assertAlmostEqual(line[key] / expected[key], 1.0, delta=2e-5, msg=key)
        self.everywhere(test)

    def files(self, folder):
        return {str(path): path.read_bytes() for path in sorted((self.folder / folder).rglob("*"))
                if path.is_file()}


if __name__ == "__main__":
    unittest.main()
