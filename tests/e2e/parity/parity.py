"""The reference cases, sharded: losses, gradient norms and last weights within the stated bounds."""

import shutil
import unittest

import h5py
import numpy

from reference_run import STRATEGIES, ReferenceTest
from program import NP, REFERENCE, read_safetensors

LOSS_BOUND = 2e-6    # relative, every step
NORM_BOUND = 2e-5    # relative, every step
WEIGHT_BOUND = 1e-4  # relative, Frobenius over all parameters

CHECKPOINTING = {
    "off": ["fsdp_config.activation_checkpointing=false"],
    "reentrant": ["fsdp_config.activation_checkpointing=true", "fsdp_config.use_reentrant=true"],
    "non_reentrant": ["fsdp_config.activation_checkpointing=true",
                      "fsdp_config.use_reentrant=false"],
}


class Parity(ReferenceTest):
    def compare_steps(self, expected):
        lines = self.metrics()
        self.assertEqual([line["step"] for line in lines], list(range(1, 11)))
        for key, bound in (("loss", LOSS_BOUND), ("grad_norm", NORM_BOUND)):
            actual = numpy.array([line[key] for line in lines])
            relative = numpy.abs(actual - expected[key][:]) / numpy.abs(expected[key][:])
            self.assertLess(relative.max(), bound, f"{key} {relative}")

    def compare_weights(self, expected):
        done = self.sherd("ckpt", "export", "ckpt", "--safetensors", "out", np=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        exported = read_safetensors(self.folder / "out" / "model.safetensors")
        self.assertEqual(sorted(exported), sorted(expected["final"]))
        wrong = right = 0.0
        for name, values in expected["final"].items():
            dtype, shape, data = exported[name]
            self.assertEqual((dtype, tuple(shape)), ("F32", values.shape), name)
            actual = numpy.frombuffer(data, "<f4").reshape(shape).astype("f8")
            wrong += ((actual - values[:]) ** 2).sum()
            right += (values[:] ** 2).sum()
        self.assertLess((wrong / right) ** 0.5, WEIGHT_BOUND)

    def check(self, case, *overrides):
        for folder in ("run", "ckpt", "out"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        self.train(*overrides, np=NP)
        with h5py.File(REFERENCE / case / "expected.h5") as expected:
            self.compare_steps(expected)
            self.compare_weights(expected)

    def check_case(self, case):
        self.reference_config(case)
        for strategy in STRATEGIES:
            for mode, overrides in CHECKPOINTING.items():
                with self.subTest(case=case, strategy=strategy, checkpointing=mode):
                    self.check(case, f"fsdp_config.sharding_strategy={strategy}", *overrides)

    def test_untied_head(self):
        self.check_case("llama")

    def test_tied_head(self):
        self.check_case("llama_tied")

    def test_separate_memory(self):
        """Whole groups gathered into each rank's own slots, as between nodes."""
        self.reference_config()
        for strategy in STRATEGIES:
            with self.subTest(strategy=strategy):
                self.check("llama", f"fsdp_config.sharding_strategy={strategy}",
                           "fsdp_config.comm_backend=mpi")


if __name__ == "__main__":
    unittest.main()
