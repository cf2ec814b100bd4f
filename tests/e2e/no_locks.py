"""A file system without locks (flock and fcntl answer ENOLCK or ENOSYS), and one whose renames know no
flags (RENAME_NOREPLACE, RENAME_EXCHANGE): a whole run and all tools."""

import os
import subprocess
import sys
import unittest

from program import REFERENCE, ProgramTest

SHIM = os.environ["SHERD_NO_LOCKS_SHIM"]


class NoLocks(ProgramTest):
    def good(self, *arguments, np=0):
        env = {"LD_PRELOAD": SHIM, "SHERD_SHIM_LOCKS": self.error}
        done = self.sherd(*arguments, np=np, env=env)
        self.assertEqual(done.returncode, 0, f"{self.error} {arguments}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def test_a_whole_run(self):
        for self.error, io in (("ENOLCK", "auto"), ("ENOSYS", "mpio"), ("flags", "auto")):
            folder = f"checkpoints-{self.error}"
            train = ["train", self.config(model=f"{{init_from: {REFERENCE}/llama}}"), "fsdp_config.checkpoint_interval=1",
                     f"checkpoint.io={io}", f"fsdp_config.checkpoint_dir={folder}"]
            self.good(*train, np=2)
            self.assertIn("resumed from", self.good(*train, "training.steps=3", np=2))
            self.assertIn("good", self.good("ckpt", "verify", folder))
            self.good("ckpt", "diff", folder, folder)
            self.good("ckpt", "consolidate", folder, "-o", f"{self.error}.h5")
            self.good("ckpt", "export", folder, "--safetensors", f"out-{self.error}")

    def test_the_shim_is_heard(self):
        lock = "import fcntl; f = open('x', 'w'); fcntl.flock(f, fcntl.LOCK_EX)"
        done = subprocess.run([sys.executable, "-c", lock], cwd=self.folder, env={**os.environ, "LD_PRELOAD": SHIM},
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertIn("No locks available", done.stderr)


if __name__ == "__main__":
    unittest.main()
