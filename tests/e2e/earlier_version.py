"""Checkpoints of released versions: they are read as before, and the same run writes the same data. Version 2 of
the format names no element types in its files; apart from that, and the version's number, nothing changed."""

import shutil
import unittest
from pathlib import Path

import h5py

from program import REFERENCE
from reference_run import ReferenceTest

RELEASED = REFERENCE.parent / "checkpoints"
LOSSES_OF_0_1 = [4.850202082128037, 4.543899813456418, 4.346630595735713]  # of steps 4 to 6


def contents(path):
    """{name: what there is to say of it}, of a file's objects; of stored data the bytes in the file themselves."""
    raw = Path(path).read_bytes()
    found = {}

    def note(name, thing):
        if isinstance(thing, h5py.Dataset):
            first, size = thing.id.get_offset(), thing.id.get_storage_size()
            stored = raw[first:first + size] if size else b""
            if thing.is_virtual:
                stored = [(source.file_name, source.dset_name, str(source.vspace.get_select_bounds()),
                           source.vspace.get_select_npoints()) for source in thing.virtual_sources()]
            if name == "meta/timing":
                stored = size
            found[name] = (thing.shape, thing.dtype, {key: str(value) for key, value in thing.attrs.items()}, stored)
        elif not name.startswith("dtypes"):
            found[name] = "a group"

    with h5py.File(path, "r") as file:
        file.visititems(note)
        found["/"] = {key: value for key, value in file.attrs.items() if key != "version"}
    return found


def named_types(path):
    """The datasets of a file whose element type is an object of its own."""
    with h5py.File(path, "r") as file:
        names = []
        file.visititems(lambda name, thing: names.append(name) if isinstance(thing, h5py.Dataset)
                        and thing.id.get_type().committed() or isinstance(thing, h5py.Datatype) else None)
        return names


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

    def test_the_same_run_writes_the_same_data(self):
        self.start_from("0.1-sgd")
        released = self.folder / "released"
        shutil.move(self.folder / "ckpt", released)
        self.train(np=2)
        step = "step-00000001"
        for file in (Path(step) / "shards" / "node-00000.h5", Path(step) / "index.h5"):
            self.assertEqual(contents(self.folder / "ckpt" / file), contents(released / file))
            self.assertNotEqual(named_types(released / file), [])
            self.assertEqual(named_types(self.folder / "ckpt" / file), [])
        done = self.sherd("ckpt", "diff", f"released/{step}", f"ckpt/{step}", np=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_whole_file_of_it_names_no_types_either(self):
        done = self.sherd("ckpt", "consolidate", RELEASED / "0.1-sgd" / "step-00000001", "-o", "whole.h5", np=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(named_types(self.folder / "whole.h5"), [])
        with h5py.File(self.folder / "whole.h5", "r") as file:
            self.assertEqual(file["/meta/step"][()], 1)
            self.assertIn(b"sgd", file["/meta/config"][()])


if __name__ == "__main__":
    unittest.main()
