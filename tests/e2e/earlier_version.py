"""Checkpoints of released versions: they are read as before, and the same run writes the same bytes."""

import shutil
import unittest
from pathlib import Path

import h5py

from program import REFERENCE
from reference_run import ReferenceTest

RELEASED = REFERENCE.parent / "checkpoints"
LOSSES_OF_0_1 = [4.850202082128037, 4.543899813456418, 4.346630595735713]  # of steps 4 to 6


def without_timing(index):
    """The bytes of an index.h5, with the times of its save set to zero."""
    data = bytearray(Path(index).read_bytes())
    with h5py.File(index, "r") as file:
        timing = file["/meta/timing"].id
        first, size = timing.get_offset(), timing.get_storage_size()
    data[first:first + size] = bytes(size)
    return data


class EarlierVersion(ReferenceTest):
    def start_from(self, name):
        """A folder like the one the released program ran in, with its checkpoint in ckpt."""
        (self.folder / "reference").symlink_to(REFERENCE)
        shutil.copy(RELEASED / name / "run.yaml", self.folder)
        shutil.copytree(RELEASED / name, self.folder / "ckpt")
        (self.folder / "ckpt" / "run.yaml").unlink()

    def test_verifies(self):
        for name, step in (("0.1-sgd", 1), ("0.1-adamw", 3)):
            done = self.sherd("ckpt", "verify", RELEASED / name / f"step-{step:08}", np=0)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_goes_on_where_the_released_version_would(self):
        self.start_from("0.1-adamw")
        untouched = self.folder / "untouched"
        shutil.copytree(self.folder / "ckpt", untouched)
        for np in (1, 2, 3, 4):
            shutil.rmtree(self.folder / "ckpt")
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            shutil.copytree(untouched, self.folder / "ckpt")
            output = self.train("training.steps=6", np=np)
            self.assertIn("resumed from ckpt/step-00000003 at step 3", output)
            losses = [line["loss"] for line in self.metrics()]
            self.assertEqual(len(losses), 3)
            for loss, released in zip(losses, LOSSES_OF_0_1):
                self.assertAlmostEqual(loss, released, delta=2e-5)

    def test_the_same_run_writes_the_same_bytes(self):
        self.start_from("0.1-sgd")
        released = self.folder / "released"
        shutil.move(self.folder / "ckpt", released)
        self.train(np=2)
        step = "step-00000001"
        shard = Path(step) / "shards" / "node-00000.h5"
        self.assertEqual((self.folder / "ckpt" / shard).read_bytes(), (released / shard).read_bytes())
        self.assertEqual(without_timing(self.folder / "ckpt" / step / "index.h5"),
                         without_timing(released / step / "index.h5"))
        done = self.sherd("ckpt", "diff", f"released/{step}", f"ckpt/{step}", np=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
