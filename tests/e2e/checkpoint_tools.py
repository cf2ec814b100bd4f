"""sherd ckpt ls, show, verify, diff and consolidate, as text and as JSON, on a run of 3 ranks."""

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy

from program import REFERENCE, ProgramTest, run


def train(folder):
    """Checkpoints of steps 2 and 4 below `folder`."""
    (folder / "run.yaml").write_text(
        "model: {preset: tiny}\n"
        f"data: {{tokens: [{REFERENCE}/llama/tokens.bin], sequence_length: 24}}\n"
        "training: {steps: 4, global_batch_size: 6, micro_batch_size: 2}\n"
        "fsdp_config: {checkpoint_interval: 2}\n", encoding="utf-8")
    done = run("train", "run.yaml", np=3, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


class CheckpointTools(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.trained = Path(tempfile.mkdtemp(prefix="sherd-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.trained, ignore_errors=True)
        train(cls.trained)

    def setUp(self):
        super().setUp()
        shutil.copytree(self.trained / "checkpoints", self.folder / "checkpoints")

    def ckpt(self, *arguments, code=0):
        done = self.sherd("ckpt", *arguments, np=0)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def json(self, *arguments, code=0):
        return json.loads(self.ckpt(*arguments, "--json", code=code))

    def damage(self, tensor="model.norm.weight", step=2):
        """Flips a bit of a tensor's first piece; returns the piece."""
        folder = self.folder / "checkpoints" / f"step-{step:08}"
        piece = self.json("show", folder, "--tensor", tensor)["pieces"][0]
        with open(folder / piece["file"], "r+b") as file:
            file.seek(piece["file_offset"])
            byte = file.read(1)[0]
            file.seek(piece["file_offset"])
            file.write(bytes([byte ^ 1]))
        return piece

    def test_ls(self):
        (self.folder / "checkpoints" / "step-00000002" / "PINNED").touch()
        uuid = "0123456789abcdef0123456789abcdef"
        (self.folder / "checkpoints" / f".tmp-step-00000006-{uuid}").mkdir()
        (self.folder / "checkpoints" / ".bad-step-00000001").mkdir()
        (self.folder / "checkpoints" / "LATEST").write_text("step-00000099\n")
        found = self.json("ls", "checkpoints")["checkpoints"]
        self.assertEqual([(f["step"], f["state"], f["pinned"], f["ranks"]) for f in found],
                         [(2, "committed", True, 3), (4, "committed", False, 3),
                          (1, "set aside", False, None), (6, "in flight", False, None)])
        self.assertGreater(found[0]["bytes"], 10_000_000)
        self.assertRegex(found[0]["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        text = self.ckpt("ls", "checkpoints")
        self.assertRegex(text, r"(?m)^ +2  committed, pinned +\d+\.\d MiB +3  20\d\d-")
        self.assertRegex(text, r"(?m)^ +6  in flight +0 B +-  20\d\d-")

    def test_show(self):
        said = self.json("show", "checkpoints")
        self.assertEqual((said["step"], said["ranks"]), (4, 3))
        tensors = {tensor["key"]: tensor for tensor in said["tensors"]}
        self.assertEqual(tensors["model.norm.weight"]["shape"], [192])
        self.assertEqual(said["texts"], ["config", "data", "trainer"])
        self.assertEqual([file["name"] for file in said["files"]],
                         ["index.h5", "shards/node-00000.h5"])
        self.assertEqual([rank["rank"] for rank in said["timing"]], [0, 1, 2])
        for rank in said["timing"]:
            self.assertTrue(0 < rank["written"] <= rank["durable"], rank)
            self.assertGreater(rank["gigabytes_per_second"], 0)
        text = self.ckpt("show", "checkpoints")
        self.assertRegex(text, r"(?m)^  rank +bytes +stall +staged +written +durable")
        self.assertRegex(text, r"(?m)^texts: config, data, trainer$")

    def test_show_tensor(self):
        key = "model.embed_tokens.weight"
        said = self.json("show", "checkpoints", "--tensor", key)
        with h5py.File(self.folder / "checkpoints" / "step-00000004" / "index.h5", "r") as index:
            values = index["model/embed_tokens/weight"][...].astype("f8")
        self.assertEqual((said["min"], said["max"]), (values.min(), values.max()))
        self.assertAlmostEqual(said["mean"], values.mean(), places=12)
        self.assertEqual(said["nan"], 0)
        self.assertEqual(sum(piece["numel"] for piece in said["pieces"]), values.size)
        self.assertRegex(self.ckpt("show", "checkpoints", "--tensor", key), r"min -0\.\d+, max 0\.")

    def test_verify(self):
        self.assertTrue(self.json("verify", "checkpoints")["good"])
        piece = self.damage()
        said = self.json("verify", "checkpoints", code=1)
        self.assertEqual([step["good"] for step in said["checkpoints"]], [False, True])
        [problem] = said["checkpoints"][0]["problems"]
        self.assertEqual((problem["file"], problem["tensor"], problem["rank"]),
                         (piece["file"], "model.norm.weight", piece["rank"]))
        self.assertEqual(problem["first_byte"], piece["file_offset"])
        text = self.ckpt("verify", "checkpoints/step-00000002", "--threads", "1", code=1)
        self.assertIn("DAMAGED", text)
        self.assertIn("tensor 'model.norm.weight' of rank", text)
        self.ckpt("verify", "checkpoints/step-00000004")

    def test_diff(self):
        two, four = "checkpoints/step-00000002", "checkpoints/step-00000004"
        self.assertTrue(self.json("diff", four, "checkpoints")["equal"])
        said = self.json("diff", two, four, code=1)
        self.assertFalse(said["equal"])
        self.assertEqual(said["texts"], ["trainer"])
        largest = max(tensor["max_abs"] for tensor in said["tensors"])
        self.assertTrue(self.json("diff", two, four, "--tolerance", largest)["equal"])
        self.assertRegex(self.ckpt("diff", two, four, code=1),
                         r"(?m)^model\.norm\.weight: \d+ elements differ, by \S+ at most$")
        self.ckpt("diff", two, "nowhere", code=2)

    def test_consolidate(self):
        said = self.json("consolidate", "checkpoints", "-o", "all.h5")
        self.assertEqual((said["step"], said["bytes"]),
                         (4, (self.folder / "all.h5").stat().st_size))
        index = h5py.File(self.folder / "checkpoints" / "step-00000004" / "index.h5", "r")
        whole = h5py.File(self.folder / "all.h5", "r")
        count = 0

        def compare(name, item):
            nonlocal count
            if isinstance(item, h5py.Dataset):
                there = index[name]
                self.assertFalse(item.is_virtual)
                self.assertEqual((item.shape, item.dtype), (there.shape, there.dtype))
                self.assertTrue(numpy.array_equal(item[()], there[()]), name)
                self.assertEqual(set(item.attrs), set(there.attrs), name)
                count += 1

        whole.visititems(compare)
        self.assertEqual(count, said["tensors"] + 5)  # /meta: step, timing and three texts
        dump = subprocess.run(["h5dump", "-d", "/meta/step", "all.h5"], capture_output=True,
                              text=True, check=True, cwd=self.folder)
        self.assertIn("(0): 4", dump.stdout)

    def test_damaged_data_is_not_passed_on(self):
        self.damage(step=4)
        done = self.sherd("ckpt", "consolidate", "checkpoints", "-o", "all.h5", np=0)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is damaged (tensor 'model.norm.weight'", done.stderr)
        self.assertFalse((self.folder / "all.h5").exists())
        self.ckpt("consolidate", "checkpoints", "-o", "all.h5", "--no-verify")
        with h5py.File(self.folder / "all.h5", "r") as whole:
            self.assertIn("model", whole)

    def test_no_command_passes_damage_on(self):
        """A flipped bit in a weight and in the optimizer's state, through every command that reads."""
        self.damage(step=4)
        self.damage(tensor="optimizer.norm.weight.exp_avg", step=4)
        target = "checkpoints/step-00000004"
        for command in (["show", target, "--tensor", "model.norm.weight"],
                        ["show", target, "--tensor", "optimizer.norm.weight.exp_avg"],
                        ["diff", target, "checkpoints/step-00000002"],
                        ["diff", "checkpoints/step-00000002", target],
                        ["export", target, "--safetensors", "out"],
                        ["export", target, "--safetensors", "out", "--all"],
                        ["consolidate", target, "-o", "all.h5"]):
            done = self.sherd("ckpt", *command, np=0)
            self.assertEqual(done.returncode, 1, f"{command}: {done.stdout}{done.stderr}")
            self.assertIn("does not match its crc32c", done.stderr, command)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["checkpoints"])
        self.ckpt("export", target, "--safetensors", "out", "--no-verify")
        header = (self.folder / "out/model.safetensors").read_bytes()[:4096]
        self.assertIn(b'"sherd_verified":"no"', header.replace(b" ", b""))
        self.ckpt("consolidate", target, "-o", "all.h5", "--no-verify")
        with h5py.File(self.folder / "all.h5", "r") as whole:
            self.assertEqual(int(whole.attrs["unverified"]), 1)

    def test_export_takes_nothing_that_it_did_not_write(self):
        out = self.folder / "out"
        out.mkdir()
        (out / "model.safetensors").write_text("mine")
        (out / "notes.txt").write_text("mine, too")
        self.ckpt("export", "checkpoints", "--safetensors", "out", code=2)
        self.assertEqual((out / "model.safetensors").read_text(), "mine")
        (out / "model.safetensors").unlink()
        self.ckpt("export", "checkpoints", "--safetensors", "out", "--file-gigabytes", "0.002")
        parts = sorted(path.name for path in out.glob("model-*.safetensors"))
        self.assertGreater(len(parts), 1)
        self.ckpt("export", "checkpoints", "--safetensors", "out")
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["config.json", "model.safetensors", "notes.txt", "sherd_export.json"])
        (self.folder / "plain.h5").write_text("mine")
        self.ckpt("consolidate", "checkpoints", "-o", "plain.h5", code=2)
        inside = "checkpoints/step-00000004/all"
        self.ckpt("consolidate", "checkpoints", "-o", f"{inside}.h5", code=2)
        self.ckpt("export", "checkpoints", "--safetensors", inside, code=2)
        self.ckpt("verify", "checkpoints")

    def test_bad_input_is_one_line_and_code_2(self):
        (self.folder / "empty").mkdir()
        for arguments in (["ls", "nowhere"], ["show", "nowhere"], ["verify", "nowhere"],
                          ["show", "empty"], ["verify", "empty"],
                          ["show", "checkpoints", "--tensor", "no.such"],
                          ["diff", "checkpoints", "empty"],
                          ["consolidate", "nowhere", "-o", "all.h5"],
                          ["consolidate", "checkpoints", "-o", "no/such/all.h5"],
                          ["export", "nowhere", "--safetensors", "hf"],
                          ["export", "checkpoints", "--safetensors", "run.yaml/hf"]):
            self.write("run.yaml", "")
            done = self.sherd("ckpt", *arguments, np=0)
            self.assertEqual(done.returncode, 2, f"{arguments}: {done.stdout}{done.stderr}")
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), arguments)
        for arguments in (["diff", "checkpoints"], ["diff", "a", "b", "--tolerance", "-1"],
                          ["consolidate", "checkpoints"], ["verify", "checkpoints", "--threads", "x"],
                          ["export", "checkpoints", "--safetensors", "hf", "--dtype", "i8"]):
            self.ckpt(*arguments, code=2)


if __name__ == "__main__":
    unittest.main()
