"""Runs the sherd program for the tests of this folder."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["SHERD_PROGRAM"]
MPIEXEC = os.environ["SHERD_MPIEXEC"]
NP = int(os.environ.get("SHERD_NP", "1"))
REFERENCE = Path(os.environ["SHERD_TEST_DATA"]) / "reference"
HANG_SECONDS = 120  # far beyond any run here: a rank that hangs ends the test


def run(*arguments, np=0, env=None, cwd=None):
    """The finished process; np ranks under mpiexec, or a plain process when np is 0."""
    launcher = [MPIEXEC, "-n", str(np)] if np else []
    return subprocess.run(launcher + [PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          errors="replace", timeout=HANG_SECONDS, cwd=cwd,
                          env={**os.environ, **(env or {})})


def read_safetensors(path):
    """{name: [dtype, shape, bytes]}"""
    data = Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length:]
    return {name: [t["dtype"], t["shape"], body[slice(*t["data_offsets"])]]
            for name, t in header.items()}


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


def children_of(pid):
    """Process numbers of pid's children, from /proc: needs no other program."""
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        if int(fields[1]) == pid:
            children.append(int(stat.parent.name))
    return sorted(children)


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own as working directory."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sherd-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def config(self, model="{preset: tiny}", data=None, more=""):
        """A small run on the reference's tokens; returns the name of the file."""
        data = data or f"{{tokens: [{REFERENCE}/llama/tokens.bin], sequence_length: 24}}"
        return self.write("run.yaml", f"model: {model}\ndata: {data}\n"
                          "training: {steps: 2, global_batch_size: 6, micro_batch_size: 3}\n" + more)

    def sherd(self, *arguments, np=NP, env=None):
        return run(*arguments, np=np, env=env, cwd=self.folder)
