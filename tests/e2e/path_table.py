"""Every path a user can give x everything that may lie there: the command does what it should with it, or
answers with one line and exit code 2, at once. The keys that take a path are found by asking for all of
docs/config.md's, so that a new one is in the table by itself."""

import concurrent.futures
import os
import re
import stat
import subprocess
import unittest
from pathlib import Path

from program import PROGRAM, REFERENCE, ProgramTest

SECONDS = 30  # of a command on a busy machine; one that waits for a pipe would need for ever
DOCUMENT = REFERENCE.parents[2] / "docs" / "config.md"
# What the program says before it knows of any problem.
GREETING = re.compile(r"sherd [\d.]+: |\w+\.yaml:\d+: |command line: .*no effect")

SMALL = ("{vocab_size: 256, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 1, "
         "num_attention_heads: 2, num_key_value_heads: 2}")
# Kinds of which a folder is one.
FOLDERS = {"folder", "linked folder", "home"}


def folder_of(name):
    return re.sub(r"\W", "-", name)


def named(path):
    """What of a path a message must say; of one too long for any name it may say the folder."""
    if len(path) > 4000:
        return ""
    return {"~": "home", "$NOT_SET_HERE/x": "NOT_SET_HERE"}.get(path, Path(path).name)


class Places:
    """One thing of each kind below a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.closed = False
        make = {"pipe": os.mkfifo, "null device": lambda p: self.device(p, 3),
                "endless device": lambda p: self.device(p, 5), "folder": os.mkdir,
                "dangling link": lambda p: os.symlink("nowhere", p),
                "linked folder": lambda p: (os.mkdir(f"{p} behind"), os.symlink(f"{p} behind", p)),
                "closed": self.close, "home": os.mkdir}
        self.paths = {}
        for kind, function in make.items():
            path = folder / kind
            function(path)
            self.paths[kind] = str(path)
        self.paths.update({"long": "a" * 4096, "home": "~", "unset": "$NOT_SET_HERE/x",
                           "new": str(folder / "none")})

    @staticmethod
    def device(path, minor):
        """A device of its own: a command that replaced the machine's would break it."""
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        except PermissionError:
            os.symlink("/dev/null" if minor == 3 else "/dev/zero", path)

    @staticmethod
    def close(path):
        os.mkdir(path)
        (path / "inside").write_text("x", encoding="utf-8")
        os.chmod(path, 0)


class PathTable(ProgramTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        (self.folder / "t.txt").write_text("in the beginning " * 300, encoding="utf-8")
        self.config(model=SMALL, data="{text: t.txt, sequence_length: 16}")
        done = self.sherd("train", "run.yaml", "training.steps=1", "fsdp_config.checkpoint_dir=good", np=0)
        self.assertEqual(done.returncode, 0, done.stderr)

    def path_keys(self):
        keys = re.findall(r"^\| `([\w.]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.M)
        self.assertGreater(len(keys), 50)
        done = self.sherd("plan", "run.yaml", *(f"{key}=$NOT_SET_HERE" for key in keys), np=0)
        found = re.findall(r"^command line: ([\w.]+): '\$NOT_SET_HERE': ", done.stderr, re.M)
        self.assertLessEqual({"data.text", "data.tokens", "model.init_from", "fsdp_config.checkpoint_dir",
                              "logging.directory"}, set(found))
        return found

    def commands(self):
        """{name: (the command with a function of the path, kinds that are right for it)}"""
        train = ["train", "run.yaml", "training.steps=1", "checkpoint.resume=never"]
        commands = {
            "train CONFIG": (lambda p, n: ["train", p], set()),
            "plan CONFIG": (lambda p, n: ["plan", p], set()),
            "plan --model": (lambda p, n: ["plan", "--model", p], set()),
            "generate": (lambda p, n: ["generate", p, "--prompt", "a"], set()),
            "ls": (lambda p, n: ["ckpt", "ls", p], FOLDERS),
            "show": (lambda p, n: ["ckpt", "show", p], set()),
            "verify": (lambda p, n: ["ckpt", "verify", p], set()),
            "diff A": (lambda p, n: ["ckpt", "diff", p, "good"], set()),
            "diff B": (lambda p, n: ["ckpt", "diff", "good", p], set()),
            "consolidate": (lambda p, n: ["ckpt", "consolidate", p, "-o", f"{n}.h5"], set()),
            "consolidate -o": (lambda p, n: ["ckpt", "consolidate", "good", "-o", p], {"new"}),
            "export": (lambda p, n: ["ckpt", "export", p, "--safetensors", f"out{n}"], set()),
            "export --safetensors": (lambda p, n: ["ckpt", "export", "good", "--safetensors", p],
                                     FOLDERS | {"new"}),
        }
        for key in self.path_keys():
            # Of each run only the path is odd.
            own = {"fsdp_config.checkpoint_dir": "ck", "logging.directory": "log"}
            own.pop(key, None)
            right = FOLDERS | {"new"} if key in (
                "fsdp_config.checkpoint_dir", "logging.directory") else set()
            section = key.split(".")[0]
            config = f"no-{section}.yaml" if section in ("data", "model") else "run.yaml"
            commands[key] = (
                lambda p, n, key=key, own=own, config=config: [
                    train[0], config, *train[2:], f'{key}="{p}"',
                    *(f"{other}={value}{n}" for other, value in own.items())], right)
        return commands

    def run_cell(self, number, name, command, kind, path, fine):
        env = {**os.environ, "HOME": str(self.folder / folder_of(name) / "home")}
        env.pop("NOT_SET_HERE", None)
        # No daemon of MPI for each of many single processes; then each needs a folder of its own.
        env.update(OMPI_MCA_ess_singleton_isolated="1",
                   OMPI_MCA_orte_tmpdir_base=str(self.fresh(f"mpi{number}")))
        as_user = {"user": 65534, "group": 65534, "extra_groups": []} if self.drops(kind) else {}
        try:
            done = subprocess.run([PROGRAM, *command(path, number)], capture_output=True, text=True,
                                  errors="replace", timeout=SECONDS, cwd=self.folder, env=env,
                                  stdin=subprocess.DEVNULL, check=False, **as_user)
        except subprocess.TimeoutExpired:
            return f"{name} x {kind}: no answer"
        lines = [line for line in done.stderr.splitlines() if not GREETING.match(line)
                 or done.returncode == 2 and "Try: " in line]
        refused = done.returncode == 2 and len(lines) == 1 and named(path) in lines[0]
        if refused or (kind in fine and done.returncode == 0):
            return None
        return f"{name} x {kind}: exit code {done.returncode}\n{done.stdout[-300:]}{done.stderr[:1000]}"

    def drops(self, kind):
        """Nothing is closed to root: there the command runs as nobody."""
        return kind == "closed" and os.geteuid() == 0

    def cells(self):
        for name, (command, fine) in self.commands().items():
            # Places of its own for each: one command's output must not be another's input.
            places = Places(self.fresh(name))
            for kind, path in places.paths.items():
                yield name, command, kind, path, fine

    def fresh(self, name):
        folder = self.folder / folder_of(name)
        folder.mkdir()
        os.chmod(folder, 0o777)
        return folder

    def test_every_cell(self):
        # Without what the key under test says instead: a contradiction would be all that is told.
        rest = "training: {steps: 1, global_batch_size: 6, micro_batch_size: 3}\n"
        self.write("no-data.yaml", f"model: {SMALL}\ndata: {{sequence_length: 16}}\n" + rest)
        self.write("no-model.yaml", "data: {text: t.txt, sequence_length: 16}\n" + rest)
        for path in [self.folder, *self.folder.iterdir()]:
            os.chmod(path, 0o777)
        cells = list(self.cells())
        self.assertGreater(len(cells), 150)
        with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
            wrong = [answer for answer in pool.map(lambda c: self.run_cell(c[0], *c[1]), enumerate(cells))
                     if answer]
        self.assertEqual(wrong, [], "\n".join(wrong))

    def tearDown(self):
        for path in Path(self.folder).glob("*/closed"):
            os.chmod(path, 0o700)
        super().tearDown()


if __name__ == "__main__":
    unittest.main()
