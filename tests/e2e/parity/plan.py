"""What --dry-run prints before a run is what the run then holds, byte for byte."""

import re
import shutil
import unittest

from reference_run import STRATEGIES, ReferenceTest
from program import NP

ROWS = {
    "parameters (master)": "parameters",
    "parameters (compute dtype)": "compute_parameters",
    "gradients": "gradients",
    "optimizer state": "optimizer_state",
    "gather slots": "gather_slots",
    "reduction slots": "reduction_slots",
}


class Plan(ReferenceTest):
    def planned(self, overrides):
        text = self.train("--dry-run", *overrides, np=NP)
        return {key: int(re.search(rf"^  {re.escape(row)} +(\d+) ", text, re.M).group(1))
                for row, key in ROWS.items()}

    def test_planned_equals_measured(self):
        self.reference_config()
        for strategy in STRATEGIES:
            for more in ((), ("fsdp_config.comm_backend=mpi",), ("fsdp_config.mixed_precision=true",),
                         ("optimizer.name=sgd",)):
                with self.subTest(strategy=strategy, more=more):
                    for folder in ("run", "ckpt"):
                        shutil.rmtree(self.folder / folder, ignore_errors=True)
                    overrides = (f"fsdp_config.sharding_strategy={strategy}", "training.steps=1",
                                 *more)
                    plan = self.planned(overrides)
                    self.train(*overrides, np=NP)
                    self.assertEqual(self.metrics(keep=["memory_bytes"])[0]["memory_bytes"], plan)


if __name__ == "__main__":
    unittest.main()
