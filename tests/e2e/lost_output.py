"""Output that is lost: standard output, logs, and files past the limit of file sizes (RLIMIT_FSIZE, SIGXFSZ)."""

import os
import resource
import signal
import subprocess
import unittest

from program import MPIEXEC, PROGRAM, ProgramTest

FAILED, BAD_INPUT = 1, 2
BELOW_SHARD = 12_000_000  # bytes; a checkpoint of the tiny preset has 19.6 million, Open MPI's own files less
BELOW_MODEL = 2_000_000


def limit(size):
    """As `ulimit -f` in a job script."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class LostOutput(ProgramTest):
    def train(self, *overrides, np=1, **options):
        launcher = [MPIEXEC, "-n", str(np)] if np > 1 else []
        return subprocess.run([*launcher, PROGRAM, "train", self.config(), *overrides], capture_output=True,
                              text=True, cwd=self.folder, timeout=120, check=False, **options)

    def ckpt(self, *arguments, **options):
        return subprocess.run([PROGRAM, "ckpt", *arguments], text=True, cwd=self.folder, timeout=120,
                              check=False, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def hidden(self):
        return sorted(path.name for path in self.folder.rglob("*")
                      if path.name.startswith(".template") or ".tmp" in path.name and path.is_file())

    def test_a_save_past_the_limit_is_a_failed_save(self):
        for np in (1, 2):
            done = self.train("fsdp_config.checkpoint_interval=1", np=np, preexec_fn=limit(BELOW_SHARD))
            self.assertEqual(done.returncode, FAILED, done.stdout + done.stderr)  # the last save must work
            self.assertIn("a checkpoint failed, training goes on", done.stdout, done.stderr)
            self.assertIn("File too large", done.stdout)
            self.assertIn("ulimit -f", done.stderr)
            self.assertEqual(self.hidden(), [])

    def test_commands_past_the_limit_leave_nothing(self):
        self.assertEqual(self.train().returncode, 0)
        before = sorted(os.listdir(self.folder))
        for arguments in (["consolidate", "checkpoints", "-o", "whole.h5"],
                          ["consolidate", "--no-verify", "checkpoints", "-o", "whole.h5"],
                          ["export", "checkpoints", "--safetensors", "out"]):
            done = self.ckpt(*arguments, preexec_fn=limit(BELOW_MODEL))
            self.assertEqual(done.returncode, FAILED, done.stdout + done.stderr)
            self.assertIn("File too large", done.stderr)
            self.assertEqual(self.hidden(), [])
            left = sorted(path for path in os.listdir(self.folder) if path != "out")
            self.assertEqual(left, before)

    def test_lost_standard_output_is_an_exit_code(self):
        self.assertEqual(self.train().returncode, 0)
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments in (["ls", "checkpoints"], ["show", "checkpoints"], ["show", "checkpoints", "--json"]):
                done = self.ckpt(*arguments, stdout=full)
                self.assertEqual(done.returncode, FAILED, arguments)
                self.assertIn("standard output could not be written", done.stderr)
            for arguments in (["--version"], ["--help"], ["info"], ["plan", "--preset", "tiny"]):
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.DEVNULL, check=False)
                self.assertEqual(done.returncode, FAILED, arguments)
            self.assertEqual(self.ckpt("ls", "nowhere", stdout=full).returncode, BAD_INPUT)
        reader, writer = os.pipe()
        os.close(reader)
        done = self.ckpt("ls", "checkpoints", stdout=writer)
        os.close(writer)
        self.assertEqual((done.returncode, "Broken pipe" in done.stderr), (FAILED, True), done)

    def test_a_closed_standard_output_is_no_file_of_the_run(self):
        done = subprocess.run(["sh", "-c", f"exec '{PROGRAM}' train {self.config()} >&- 2>&- <&-"],
                              cwd=self.folder, timeout=120, check=False)
        self.assertEqual(done.returncode, 0)  # what a training prints is a view of it
        verified = self.ckpt("verify", "checkpoints")
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        closed = subprocess.run(["sh", "-c", f"exec '{PROGRAM}' ckpt ls checkpoints >&-"], cwd=self.folder,
                                stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(closed.returncode, FAILED)
        self.assertIn("Bad file descriptor", closed.stderr)

    def test_a_training_outlives_who_reads_it(self):
        with subprocess.Popen([PROGRAM, "train", self.config(), "training.steps=30"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, cwd=self.folder) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.wait(timeout=120), 0)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main()
