"""A full disk: the save fails with one line, training goes on, the last good checkpoint stays as it is and
the next save works once there is room. The disk is a small tmpfs in a mount namespace of this test."""

import hashlib
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

IN_NAMESPACE = "SHERD_TEST_IN_NAMESPACE"
if IN_NAMESPACE not in os.environ:
    options = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    os.environ[IN_NAMESPACE] = "1"
    os.execvp("unshare", ["unshare", *options, sys.executable, "-B", *sys.argv])

from program import HANG_SECONDS, MPIEXEC, NP, PROGRAM, ProgramTest  # noqa: E402

STOPPED_EARLY = 85
MIB = 1 << 20
CHECKPOINT = 20 * MIB  # of the tiny preset: 19.6
DISK = 68 * MIB  # three checkpoints: two kept and one being written


def digest(folder):
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return total.hexdigest()


class FullDisk(ProgramTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=False)
        self.ballast = self.disk / "ballast"
        self.arguments = ["train", self.config(more="checkpoint: {keep_last: 2}\n"),
                          "fsdp_config.checkpoint_interval=4", "fsdp_config.checkpoint_dir=disk/ckpt"]

    def leave_room_for(self, checkpoints):
        with open(self.ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, DISK - 2 * MIB - int(checkpoints * CHECKPOINT))

    def steps(self):
        return sorted(int(path.name[5:]) for path in (self.disk / "ckpt").glob("step-*"))

    def test_training_goes_on_and_the_next_save_works(self):
        self.leave_room_for(1)
        process = subprocess.Popen([MPIEXEC, "-n", str(NP), PROGRAM, *self.arguments, "training.steps=5000"],
                                   stdout=subprocess.PIPE, stderr=open(self.folder / "errors", "w"),
                                   text=True, cwd=self.folder, env=dict(os.environ))
        self.addCleanup(process.kill)
        output, good, freed = [], None, False
        for line in process.stdout:
            output.append(line)
            if line.startswith("a checkpoint failed"):
                self.assertIn("No space left on device", line)
                if freed:  # a failure from before there was room, read after a save that had it
                    continue
                self.assertEqual(self.steps(), [4])
                good = digest(self.disk / "ckpt" / "step-00000004")
                self.ballast.unlink()
                freed = True
            elif freed and line.rstrip().endswith(" saved") and "step 4 saved" not in line:
                process.send_signal(signal.SIGUSR1)
                break
        text = "".join(output) + process.stdout.read()
        process.wait(timeout=HANG_SECONDS)
        errors = (self.folder / "errors").read_text(encoding="utf-8")
        self.assertEqual(process.returncode, STOPPED_EARLY, text + errors)
        self.assertIsNotNone(good, text)
        self.assertNotIn("warning", errors)
        self.assertNotIn("error", errors)
        self.assertEqual(len(self.steps()), 2)
        for step in self.steps():
            done = self.sherd("ckpt", "verify", f"disk/ckpt/step-{step:08}", np=0)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_last_save_must_work(self):
        self.leave_room_for(1)
        done = self.sherd(*self.arguments, "training.steps=6")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual(self.steps(), [4])
        self.ballast.unlink()
        done = self.sherd(*self.arguments, "training.steps=6")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("at step 4", done.stdout + done.stderr)
        self.assertEqual(self.steps(), [4, 6])

    def test_a_full_log_folder_is_a_warning(self):
        with open(self.ballast, "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while file.write(bytes(MIB)) == MIB:
                    pass
                file.write(b"x" * MIB)
        done = self.sherd(self.arguments[0], self.arguments[1], "fsdp_config.checkpoint_dir=ckpt",
                          "logging.directory=disk/run")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("metrics.jsonl: cannot write (No space left on device)"), 1, done.stderr)
        self.assertEqual(done.stderr.count("config.yaml cannot be written: No space left on device"), 1)
        self.assertEqual(os.listdir(self.disk / "run"), ["metrics.jsonl"])
        self.assertIn("done: 2 steps", done.stdout)

    def test_who_wants_to_stop_stops(self):
        self.leave_room_for(0.5)
        done = self.sherd(*self.arguments, "training.steps=5000", "checkpoint.on_failure=stop")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("No space left on device", done.stderr)
        self.assertNotIn("step 40/", done.stdout)


if __name__ == "__main__":
    unittest.main()
