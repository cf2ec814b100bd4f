"""device: cuda on an emulated device: right values, the same bits under any order of its streams,
resumed to the same bits, ended by a rank that fails.

An emulated device's memory cannot be touched by the host and holds NaN where nothing was written.
"""

import os
import unittest

from bitwise import Outcomes
from parity import Run, overrides
from program import NP

ON_DEVICE = "fsdp_config.device=cuda"
# (nodes, strategy, checkpointing, micro-batches)
RUNS = {
    1: ((1, "NO_SHARD", "non_reentrant", "many"), (1, "FULL_SHARD", "off", "one")),
    2: ((1, "FULL_SHARD", "reentrant", "many"), (1, "SHARD_GRAD_OP", "off", "many"),
        (2, "HYBRID_SHARD_FULL_OPTIM", "off", "many")),
    4: ((1, "FULL_SHARD", "non_reentrant", "one"), (2, "HYBRID_SHARD", "off", "many"),
        (2, "FULL_SHARD", "reentrant", "many")),
}


def emulate(seed):
    os.environ["SHERD_TEST_DEVICE"] = f"emulated:{seed}"


class DeviceParity(Run):
    def test_reference_values(self):
        for seed, (nodes, *run) in enumerate(RUNS[NP]):
            with self.subTest(nodes=nodes, run=run):
                emulate(seed)
                self.check("llama", nodes, NP, *overrides(*run), ON_DEVICE)


class DeviceBits(Outcomes):
    def test_any_schedule_and_a_resumed_run_leave_the_same_bits(self):
        self.reference_config()
        emulate(1)
        straight = self.outcome(ON_DEVICE, "fsdp_config.mixed_precision=true")
        emulate(2)
        self.assert_same(straight, self.outcome(ON_DEVICE, "fsdp_config.mixed_precision=true"))
        emulate(3)
        self.expect_resumed_equals(straight, ON_DEVICE, "fsdp_config.mixed_precision=true")

    def test_a_rank_that_fails_ends_the_run(self):
        self.reference_config()
        emulate(4)
        output = self.train(ON_DEVICE, np=NP, env={"SHERD_TEST_THROW": f"{NP - 1}:3"}, expect=None)
        self.assertIn("forward of step 3 failed", output)

    if NP == 4:
        def test_ranks_that_go_different_ways_are_found_out(self):
            self.reference_config()
            emulate(5)
            output = self.train(ON_DEVICE, np=NP, expect=None, env={
                "SHERD_TEST_DIVERGE": "skip_layer:1:3", "SHERD_TEST_NODES": "2"})
            self.assertRegex(output, r"rank 1 issued \S+ as number \d+, ranks? [\d, ]+ "
                                     r"all_gather\(layers.0\)")


if __name__ == "__main__":
    unittest.main()
