"""The same ranks give the same bits: twice, and stopped in the middle and resumed."""

import shutil
import unittest

from reference_run import STRATEGIES, ReferenceTest
from program import NP


class Outcomes(ReferenceTest):
    """What runs leave, to the last bit."""

    def outcome(self, *overrides, env=None):
        """Trains from nothing; metrics without times, and the shard files."""
        for folder in ("run", "ckpt"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        self.train(*overrides, np=NP, env=env)
        return self.metrics(keep=None), self.shards()

    def shards(self):
        folder = self.folder / "ckpt" / "step-00000010" / "shards"
        return {shard.name: shard.read_bytes() for shard in sorted(folder.iterdir())}

    def assert_same(self, first, second):
        self.assertEqual(first[0], second[0])
        self.assertEqual(sorted(first[1]), sorted(second[1]))
        for name, data in first[1].items():
            self.assertTrue(data == second[1][name], f"{name} differs")

    def expect_resumed_equals(self, straight, *more, env=None):
        # The checkpoint of step 5 is as an interrupted run would have left it.
        shutil.rmtree(self.folder / "run")
        shutil.rmtree(self.folder / "ckpt" / "step-00000010")
        self.train(*more, np=NP, env=env)
        self.assert_same((straight[0][5:], straight[1]), (self.metrics(keep=None), self.shards()))


class Bitwise(Outcomes):
    def test_two_runs(self):
        self.reference_config()
        for strategy in STRATEGIES:
            with self.subTest(strategy=strategy):
                chosen = f"fsdp_config.sharding_strategy={strategy}"
                self.assert_same(self.outcome(chosen), self.outcome(chosen))

    def test_any_number_of_threads_goes_on_with_any_other(self):
        self.reference_config()
        more, threads, then = (((), "2", "7"), (("fsdp_config.mixed_precision=true",), "4,2", "3"))[NP % 2]
        one = self.outcome(*more)
        self.assert_same(one, self.outcome(*more, env={"OMP_NUM_THREADS": threads}))
        self.expect_resumed_equals(one, *more, env={"OMP_NUM_THREADS": then})

    def test_five_steps_saved_and_five_more_equal_ten(self):
        self.reference_config()
        # fp16 starts with a scale that overflows: steps are left out on both sides of the save.
        for more in (("checkpoint.io=mpio",), ("data.order=shuffled", "checkpoint.io=pwrite"),
                     ("fsdp_config.mixed_precision=true", "checkpoint.layout=per_rank"),
                     ("fsdp_config.mixed_precision=true", "fsdp_config.fp16=true",
                      "fsdp_config.initial_loss_scale=1e8"),
                     ("optimizer.name=sgd", "optimizer.schedule=cosine", "optimizer.warmup_steps=2",
                      "checkpoint.staging=eager")):
            with self.subTest(more=more):
                self.expect_resumed_equals(self.outcome(*more), *more)

    def test_an_update_waits_for_what_is_still_being_copied(self):
        """The state is larger than the staging memory and the disk slow: most of it is copied while the next steps
        compute, and would hold their values if they did not wait."""
        self.reference_config()
        straight = self.outcome("checkpoint.staging_bytes_per_node=1",
                                env={"SHERD_TEST_WRITE_BYTES_PER_SECOND": "2000000"})
        self.expect_resumed_equals(straight)

    def test_three_interruptions_in_a_row(self):
        self.reference_config()
        often = "fsdp_config.checkpoint_interval=2"
        straight = self.outcome(often)
        for folder in ("run", "ckpt"):
            shutil.rmtree(self.folder / folder)
        for step in (4, 6, 9):
            output = self.train(often, np=NP, env={"SHERD_TEST_THROW": f"{NP - 1}:{step}"}, expect=None)
            self.assertIn(f"forward of step {step} failed", output)
        self.train(often, np=NP)
        self.assert_same(straight, (self.metrics(keep=None), self.shards()))


if __name__ == "__main__":
    unittest.main()
