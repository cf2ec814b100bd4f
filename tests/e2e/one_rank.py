"""What one rank alone sees of a checkpoint changes nothing on the disk."""

import errno
import os
import subprocess
import unittest

from program import HANG_SECONDS, MPIEXEC, PROGRAM, ProgramTest

TRAIN = ["train", "run.yaml", "training.steps=9"]


class OneRank(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config(more="fsdp_config: {checkpoint_interval: 3}\n")
        done = self.sherd("train", "run.yaml", "training.steps=6")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.before = self.names()

    def names(self):
        return sorted(path.name for path in (self.folder / "checkpoints").iterdir())

    def train_with(self, settings, *more, wrapper=()):
        """Two ranks, the second of which is different."""
        environment = {**os.environ, **settings}
        preload = environment.pop("LD_PRELOAD", "")
        usual = [PROGRAM, *TRAIN, *more]
        odd = [*wrapper, *usual]
        odd = ["env", f"LD_PRELOAD={preload}", *odd] if preload else odd
        return subprocess.run(
            [MPIEXEC, "-n", "1", *usual, ":", "-n", "1", *odd],
            capture_output=True, text=True, timeout=HANG_SECONDS, cwd=self.folder,
            env=environment)

    def misread(self, how, *more, path="step-00000006/shards"):
        return self.train_with({"LD_PRELOAD": os.environ["SHERD_MISREAD"], "MISREAD": str(how),
                                "MISREAD_PATH": path}, *more)

    def test_a_missing_mount_is_an_error_of_that_host(self):
        wrapper = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
                   'mount -t tmpfs none checkpoints && exec "$0" "$@"']
        done = self.train_with({}, wrapper=wrapper)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, r"rank 1: on \S+: 'checkpoints/.writer.json' "
                         r"cannot be read: no such file")
        self.assertEqual(self.names(), self.before)

    def test_a_single_misreading_is_told_and_read_again(self):
        done = self.misread("once")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"did not find when it read the place again")
        self.assertIn("resumed from checkpoints/step-00000006 at step 6", done.stdout + done.stderr)
        self.assertEqual(self.names(), sorted([*self.before, "step-00000009"]))

    def test_a_rank_that_always_misreads_renames_nothing(self):
        done = self.misread("always")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("memory, bus or mount of that host", done.stdout + done.stderr)
        self.assertEqual(self.names(), self.before)

    def test_what_cannot_be_read_is_not_damaged(self):
        for number in (errno.EIO, errno.ESTALE):
            done = self.misread(number)
            output = done.stdout + done.stderr
            self.assertEqual(done.returncode, 1, output)
            self.assertRegex(output, r"rank 1: on \S+: cannot read 'checkpoints/step-00000006/"
                             r"shards/\S+': " + os.strerror(number))
            self.assertEqual(self.names(), self.before)

    def test_an_older_one_is_taken_when_told_so(self):
        done = self.misread(errno.EIO, "checkpoint.resume=older")
        output = done.stdout + done.stderr
        self.assertIn("'step-00000006' cannot be read and was passed over", output)
        self.assertIn("resumed from checkpoints/step-00000003 at step 3", output)
        self.assertTrue(set(self.before) <= set(self.names()), self.names())

    def test_verify_tells_a_refusal_from_damage(self):
        environment = {"LD_PRELOAD": os.environ["SHERD_MISREAD"], "MISREAD": str(errno.EIO),
                       "MISREAD_PATH": "step-00000006/shards"}
        done = self.sherd("ckpt", "verify", "checkpoints", np=0, env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"step-00000006: CANNOT BE READ")
        self.assertRegex(done.stdout, r"step-00000003: good")

    def test_damage_that_two_ranks_see_is_set_aside(self):
        shard = next((self.folder / "checkpoints/step-00000006/shards").iterdir())
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 1
        shard.write_bytes(data)
        done = self.sherd(*TRAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resumed from checkpoints/step-00000003 at step 3", done.stdout + done.stderr)
        self.assertIn(".bad-step-00000006", self.names())


if __name__ == "__main__":
    unittest.main()
