"""Save on some ranks with one strategy, go on with others; stop by a signal; another model."""

import os
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy

from reference_run import STRATEGIES, ReferenceTest
from program import MPIEXEC, PROGRAM, REFERENCE, children_of


class Resume(ReferenceTest):
    def losses_close_to_reference(self, first_step):
        with h5py.File(REFERENCE / "llama" / "expected.h5") as expected:
            for line in self.metrics():
                if line["step"] >= first_step:
                    right = expected["loss"][line["step"] - 1]
                    self.assertLess(abs(line["loss"] - right) / right, 2e-6, line)

    def go_on_from_step_5(self, np, strategy, nodes=1):
        shutil.rmtree(self.folder / "ckpt" / "step-00000010", ignore_errors=True)
        output = self.train(f"fsdp_config.sharding_strategy={strategy}", np=np,
                            env={"SHERD_TEST_NODES": str(nodes)})
        self.assertEqual(output.count("at step 5"), 1, output)
        self.assertEqual([line["step"] for line in self.metrics()], list(range(1, 11)))
        self.losses_close_to_reference(6)

    def test_any_ranks_and_strategy_to_any_other(self):
        self.reference_config()
        for saved_np, saved_strategy in ((2, "FULL_SHARD"), (3, "NO_SHARD"), (1, "FULL_SHARD")):
            for folder in ("run", "ckpt"):
                shutil.rmtree(self.folder / folder, ignore_errors=True)
            self.train(f"fsdp_config.sharding_strategy={saved_strategy}", np=saved_np)
            for np, strategy in ((1, "NO_SHARD"), (3, "FULL_SHARD"), (4, "SHARD_GRAD_OP"),
                                 (2, "NO_SHARD"), (5, "FULL_SHARD")):
                with self.subTest(saved=(saved_np, saved_strategy), now=(np, strategy)):
                    self.go_on_from_step_5(np, strategy)

    def test_two_nodes_to_one(self):
        """Two nodes of two ranks write a file each and gather over MPI; three ranks of one go on."""
        self.reference_config()
        self.train(np=4, env={"SHERD_TEST_NODES": "2"})
        self.losses_close_to_reference(1)
        shards = self.folder / "ckpt" / "step-00000005" / "shards"
        self.assertEqual(sorted(shard.name for shard in shards.iterdir()),
                         ["node-00000.h5", "node-00001.h5"])
        self.go_on_from_step_5(3, "FULL_SHARD")

    def test_hybrid_to_and_from_all(self):
        """What two nodes hold alike is saved once and given to all who want it."""
        self.reference_config()
        self.train("fsdp_config.sharding_strategy=HYBRID_SHARD", np=4, env={"SHERD_TEST_NODES": "2"})
        self.losses_close_to_reference(1)
        for np, strategy, nodes in ((3, "FULL_SHARD", 1), (4, "HYBRID_SHARD_ZERO2", 2),
                                    (6, "HYBRID_SHARD_FULL_OPTIM", 3), (2, "HYBRID_SHARD", 2),
                                    (1, "NO_SHARD", 1)):
            with self.subTest(now=(np, strategy, nodes)):
                self.go_on_from_step_5(np, strategy, nodes)

    def test_damaged_newest_checkpoint_is_set_aside(self):
        self.reference_config()
        self.train(np=2)
        shard = self.folder / "ckpt" / "step-00000010" / "shards" / "node-00000.h5"
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 0x40
        shard.write_bytes(data)
        output = self.train(np=2)
        self.assertIn("step-00000010", output)
        self.assertIn("at step 5", output)
        self.losses_close_to_reference(1)

    def test_another_model_is_refused(self):
        self.reference_config()
        self.train(np=2)
        self.reference_config("llama_tied")
        output = self.train(np=2, expect=2)
        self.assertIn("model.tie_word_embeddings is true, and the checkpoint was saved with false", output)
        self.assertEqual(output.count("another model"), 1, output)

    def test_another_batch_is_refused(self):
        self.reference_config()
        self.train(np=2)
        output = self.train("training.global_batch_size=4", np=2, expect=2)
        self.assertIn("training.global_batch_size is 4", output)

    def test_resume_must_without_a_checkpoint(self):
        self.reference_config()
        output = self.train("checkpoint.resume=must", np=2, expect=2)
        self.assertIn("holds no checkpoint", output)

    def wait_for_steps(self, process, steps):
        metrics = self.folder / "run" / "metrics.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if metrics.exists() and len(metrics.read_text().splitlines()) >= steps:
                return
            time.sleep(0.02)
        self.fail("the run made no steps")

    def test_a_signal_saves_and_stops(self):
        self.reference_config()
        process = subprocess.Popen(
            [MPIEXEC, "-n", "2", PROGRAM, "train", "run.yaml", "training.steps=100000",
             "fsdp_config.checkpoint_interval=0"], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.wait_for_steps(process, 3)
        # One rank is told; all of them stop after the same step.
        os.kill(children_of(process.pid)[-1], signal.SIGTERM)
        output = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 85, output)
        done = len(self.metrics())
        self.assertIn(f"stopped by signal after step {done}", output)
        self.assertTrue((self.folder / "ckpt" / f"step-{done:08d}" / "COMMITTED.json").exists())


if __name__ == "__main__":
    unittest.main()
