"""An MPI code of its own that saves blocks of a 3-D array with sherd::io (examples/03)."""

import json
import os
import subprocess
import unittest

import h5py
import numpy

from program import HANG_SECONDS, MPIEXEC, ProgramTest

STENCIL = os.environ["SHERD_STENCIL"]


class Stencil(ProgramTest):
    def stencil(self, np, folder, steps, nodes=1):
        done = subprocess.run([MPIEXEC, "-n", str(np), STENCIL, folder, str(steps)],
                              capture_output=True, text=True, timeout=HANG_SECONDS, cwd=self.folder,
                              env={**os.environ, "SHERD_TEST_NODES": str(nodes)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def field(self, folder, step):
        with h5py.File(self.folder / folder / f"step-{step:08}" / "index.h5", "r") as index:
            return index["heat/u"][...]

    def test_it_goes_on_exactly_on_other_ranks_and_grids(self):
        self.stencil(1, "alone", 30)
        expected = self.field("alone", 30)
        self.assertEqual(expected.shape, (20, 17, 13))
        self.assertTrue(0 < expected.min() < expected.max() < 100)

        self.assertIn("of 2x2x1 goes on from step 0", self.stencil(4, "heat", 12, nodes=2))
        self.assertIn("of 3x1x1 goes on from step 10", self.stencil(3, "heat", 20))
        self.assertIn("of 3x2x1 goes on from step 20", self.stencil(6, "heat", 30, nodes=3))
        self.assertTrue(numpy.array_equal(self.field("heat", 30), expected))
        self.assertFalse(numpy.array_equal(self.field("heat", 20), expected))

        for folder in ("heat", "alone"):
            self.assertEqual(self.sherd("ckpt", "verify", folder, np=0).returncode, 0)
        same = self.sherd("ckpt", "diff", "heat", "alone", np=0)
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        shown = self.sherd("ckpt", "show", "heat", "--tensor", "heat.u", "--json", np=0)
        pieces = json.loads(shown.stdout)["pieces"]
        self.assertEqual([piece["start"] for piece in pieces],
                         [[x, y, 0] for x in (0, 7, 14) for y in (0, 9)])
        dump = subprocess.run(["h5dump", "-H", "-d", "/heat/u", "index.h5"], capture_output=True,
                              text=True, check=True, cwd=self.folder / "heat" / "step-00000030")
        self.assertIn("( 20, 17, 13 )", dump.stdout)


if __name__ == "__main__":
    unittest.main()
