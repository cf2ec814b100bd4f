"""Files that are not what they seem: one line, an exit code, nothing lost, no hang."""

import json
import os
import shutil
import struct
import subprocess
import time
import unittest

from program import HANG_SECONDS, MPIEXEC, PROGRAM, REFERENCE, ProgramTest

DEEP = "[" * 100000 + "]" * 100000
SMALL = ("{vocab_size: 256, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 1, "
         "num_attention_heads: 2, num_key_value_heads: 2}")


class SmallRuns(ProgramTest):
    def small(self, data="{text: t.txt, sequence_length: 32}", more=""):
        (self.folder / "t.txt").write_text("in the beginning " * 3000, encoding="utf-8")
        return self.config(model=SMALL, data=data, more=more)


class ForeignFiles(SmallRuns):
    def one_line(self, done, code, *says):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = (done.stdout + done.stderr).splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertLess(len(lines[0]), 1000)
        for text in says:
            self.assertIn(text, lines[0])

    def test_deep_json(self):
        header = '{"x":{"dtype":"F32","shape":' + DEEP + ',"data_offsets":[0,4]}}'
        folder = self.folder / "model"
        shutil.copytree(REFERENCE / "llama", folder, copy_function=shutil.copyfile)
        (folder / "model.safetensors").write_bytes(
            struct.pack("<Q", len(header)) + header.encode() + b"1234")
        config = self.config(model="{init_from: model}")
        done = self.sherd("train", config, np=0)
        self.assertEqual(done.returncode, 2)
        self.assertIn("model.safetensors: the header: its JSON is nested more than 64 deep", done.stderr)
        (folder / "config.json").write_text('{"vocab_size":' + DEEP + "}", encoding="utf-8")
        for command in (["train", config], ["plan", "--model", "model"]):
            self.one_line(self.sherd(*command, np=0), 2, "config.json: its JSON is nested")

    def test_deep_json_in_a_checkpoint(self):
        config = self.small(more="fsdp_config: {checkpoint_interval: 1}\n")
        self.assertEqual(self.sherd("train", config, np=2).returncode, 0)
        step = self.folder / "checkpoints" / "step-00000002"
        (step / "COMMITTED.json").write_text(
            '{"format":"sherd-checkpoint","version":1,"manifest_crc32c":0,"x":' + DEEP + "}\n",
            encoding="utf-8")
        listed = self.sherd("ckpt", "ls", "checkpoints", np=0)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertRegex(listed.stdout, "(?m)^ +1  committed")
        self.assertRegex(listed.stdout, "(?m)^ +2  damaged")
        verified = self.sherd("ckpt", "verify", step, np=0)
        self.assertEqual(verified.returncode, 1, verified.stderr)
        self.assertIn("nested more than 64 deep", verified.stdout)
        self.assertIn("DAMAGED", verified.stdout)

    def test_a_file_that_shrinks_under_a_run_is_named(self):
        for launcher in ([], [MPIEXEC, "-n", "2"]):
            config = self.small(more="fsdp_config: {checkpoint_interval: 0}\n")
            process = subprocess.Popen([*launcher, PROGRAM, "train", config, "training.steps=1000000"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       cwd=self.folder)
            self.addCleanup(process.kill)
            for line in process.stdout:
                if line.startswith("step "):
                    break
            os.truncate(self.folder / "t.txt", 100)
            output = process.communicate(timeout=HANG_SECONDS)[1]
            self.assertEqual(process.returncode, 1, output)
            named = [line for line in output.splitlines() if "error: t.txt: " in line]
            self.assertIn(len(named), (1, 2 if launcher else 1), output)  # of a rank that saw it
            self.assertNotIn("Bus error", output)

    def test_linked_folders_are_read(self):
        config = self.small("{text: corpus, sequence_length: 32}")
        for name in ("corpus/a.txt", "real/more/1.txt", "real/more/2.txt"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.folder / "t.txt", path)
        (self.folder / "corpus" / "link").symlink_to("../real")
        (self.folder / "real" / "circle").symlink_to("../corpus")
        done = self.sherd("train", config, np=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        import h5py
        with h5py.File(self.folder / "checkpoints/step-00000002/index.h5", "r") as index:
            files = [file["path"] for file in json.loads(index["/meta/data"][()])["files"]]
        self.assertEqual(files, ["corpus/a.txt", "corpus/link/more/1.txt", "corpus/link/more/2.txt"])

    def test_home_and_variables_in_paths(self):
        config = self.small()
        home = self.folder / "home"
        env = {"HOME": str(home), "SCRATCH": str(self.folder / "scratch")}
        done = self.sherd("train", config, "fsdp_config.checkpoint_dir=$SCRATCH/ck",
                          "logging.directory=~/log", np=2, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "scratch/ck/step-00000002/COMMITTED.json").exists())
        self.assertTrue((home / "log/metrics.jsonl").exists())
        self.assertFalse((self.folder / "$SCRATCH").exists() or (self.folder / "~").exists())
        self.assertIn("good", self.sherd("ckpt", "verify", "$SCRATCH/ck", np=0, env=env).stdout)
        self.one_line(self.sherd("train", config, "logging.directory=${NOT_SET_HERE}/log", np=0), 2,
                      "logging.directory: '${NOT_SET_HERE}/log': the environment variable NOT_SET_HERE "
                      "is not set")

    def test_a_second_document_and_merge_keys(self):
        config = self.small(more="x-o: &o {learning_rate: 0.5}\noptimizer: {<<: *o}\n")
        done = self.sherd("train", config, "--dry-run", np=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / config, "a", encoding="utf-8") as file:
            file.write("---\ntraining: {steps: 9}\n")
        self.one_line(self.sherd("train", config, np=0), 2, "run.yaml:7: a second YAML document begins")

    def test_control_characters_are_not_printed(self):
        name = "\x1b[31mred\x1b[0m\r\u009b1m"
        config = self.write("run.yaml", f'model: {{preset: tiny, "{json.dumps(name)[1:-1]}": 1}}\n')
        done = self.sherd("train", config, f"data.text={name}", np=0)
        self.assertEqual(done.returncode, 2)
        folder = self.folder / name
        folder.mkdir()
        listed = self.sherd("ckpt", "ls", name, np=0)
        as_json = self.sherd("ckpt", "ls", name, "--json", np=0)
        for text in (done.stderr, listed.stdout, as_json.stdout):
            self.assertIn("red", text)
            self.assertFalse(set(text) & set("\x1b\r\u009b"), repr(text))
        self.assertEqual(json.loads(as_json.stdout)["directory"], name)


class PlantedFiles(SmallRuns):
    """Others planted something under the names that a run writes: it is not written through, nor waited for."""

    def run_with(self, config, plant):
        done = self.sherd("train", config, "training.steps=1", np=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [path for folder in ("run", "checkpoints") for path in (self.folder / folder).iterdir()
                 if path.is_file()]
        names = {str(path.relative_to(self.folder)) for path in found}
        self.assertLessEqual({"run/config.yaml", "run/metrics.jsonl", "checkpoints/LATEST"}, names)
        names |= {name + ".tmp" for name in names}
        for name in sorted(names):
            for folder in ("run", "checkpoints"):
                shutil.rmtree(self.folder / folder)
                (self.folder / folder).mkdir()
            plant(self.folder / name)
            with self.subTest(name):
                done = subprocess.run([PROGRAM, "train", config, "training.steps=1"], capture_output=True,
                                      text=True, timeout=30, cwd=self.folder, check=False)
                self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                yield name

    def test_pipes(self):
        for _ in self.run_with(self.small(), os.mkfifo):
            pass

    def test_links(self):
        victim = self.folder / "victim"
        victim.write_text("mine", encoding="utf-8")
        for name in self.run_with(self.small(), lambda path: path.symlink_to(victim)):
            self.assertEqual(victim.read_text(encoding="utf-8"), "mine", name)


class EndlessFiles(ProgramTest):
    """What never ends is not read: each answers within seconds."""

    def test_huge_json(self):
        for name in ("config.json", "run.yaml"):
            with open(self.folder / name, "wb") as file:
                file.truncate(1 << 40)
        start = time.monotonic()
        for command in (["plan", "--model", "."], ["plan", "run.yaml"], ["train", "run.yaml"]):
            done = self.sherd(*command, np=0)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"it has 1099511627776 bytes or more, such a file has at most \d+")
        self.assertLess(time.monotonic() - start, 20)


if __name__ == "__main__":
    unittest.main()
