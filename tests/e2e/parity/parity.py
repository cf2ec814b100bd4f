"""The reference cases, sharded: losses, gradient norms and last weights within the stated bounds.

As a test: on each mesh (nodes x ranks) of SHERD_NP ranks every strategy, with checkpointing modes,
cases and micro-batches taken in turn so that all pairs come up. By hand, `parity.py --all`: the full
product on all meshes as a table.
"""

import itertools
import shutil
import sys
import unittest

import h5py
import numpy

from reference_run import STRATEGIES, ReferenceTest
from program import NP, REFERENCE, read_safetensors

LOSS_BOUND = 2e-6    # relative, every step
NORM_BOUND = 2e-5    # relative, every step
WEIGHT_BOUND = 1e-4  # relative, Frobenius over all parameters

CASES = ("llama", "llama_tied")
CHECKPOINTING = {
    "off": ["fsdp_config.activation_checkpointing=false"],
    "reentrant": ["fsdp_config.activation_checkpointing=true", "fsdp_config.use_reentrant=true"],
    "non_reentrant": ["fsdp_config.activation_checkpointing=true",
                      "fsdp_config.use_reentrant=false"],
}
MESHES = ((1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 3), (3, 2), (4, 2))
MICRO_BATCHES = ("one", "many")  # a rank's whole share of 6 sequences at once, or one by one


class Run(ReferenceTest):
    """One training run and how far it is from the reference."""

    def runTest(self):
        pass

    def deviations(self, case, nodes, np, *overrides):
        for folder in ("run", "ckpt", "out"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        self.reference_config(case)
        self.train(*overrides, np=np, env={"SHERD_TEST_NODES": str(nodes)} if nodes > 1 else None)
        with h5py.File(REFERENCE / case / "expected.h5") as expected:
            return (*self.step_deviations(expected), self.weight_deviation(expected))

    def step_deviations(self, expected):
        lines = self.metrics()
        self.assertEqual([line["step"] for line in lines], list(range(1, 11)))
        return [float((numpy.abs(numpy.array([line[key] for line in lines]) - expected[key][:])
                       / numpy.abs(expected[key][:])).max()) for key in ("loss", "grad_norm")]

    def weight_deviation(self, expected):
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
        return float((wrong / right) ** 0.5)

    def check(self, case, nodes, np, *overrides):
        loss, norm, weights = self.deviations(case, nodes, np, *overrides)
        self.assertLess(loss, LOSS_BOUND)
        self.assertLess(norm, NORM_BOUND)
        self.assertLess(weights, WEIGHT_BOUND)


def overrides(strategy, checkpointing, micro):
    return [f"fsdp_config.sharding_strategy={strategy}", *CHECKPOINTING[checkpointing],
            f"training.micro_batch_size={6 if micro == 'one' else 1}"]


class Parity(Run):
    def test_strategies(self):
        meshes = [mesh for mesh in MESHES if mesh[0] * mesh[1] == NP]
        self.assertTrue(meshes)
        turn = itertools.count(NP)
        for nodes, local in meshes:
            for strategy in STRATEGIES:
                at = next(turn)
                case, checkpointing = CASES[at % 2], list(CHECKPOINTING)[at % 3]
                micro = MICRO_BATCHES[at // 2 % 2]
                with self.subTest(mesh=(nodes, local), strategy=strategy, case=case,
                                  checkpointing=checkpointing, micro=micro):
                    self.check(case, nodes, NP, *overrides(strategy, checkpointing, micro))

    def test_other_ways(self):
        """Without shared memory; transfers by a thread; a node's part kept; each accumulation."""
        nodes = 2 if NP % 2 == 0 else 1
        for strategy, *more in (
                ("FULL_SHARD", "fsdp_config.comm_backend=mpi"),
                ("FULL_SHARD", "fsdp_config.comm_progress=thread"),
                ("FULL_SHARD", "fsdp_config.reshard_after_forward=node"),
                ("HYBRID_SHARD", "fsdp_config.gradient_accumulation=defer_all_reduce"),
                ("HYBRID_SHARD_FULL_OPTIM", "fsdp_config.comm_progress=thread",
                 "fsdp_config.gradient_accumulation=defer_all_reduce"),
                ("SHARD_GRAD_OP", "fsdp_config.gradient_accumulation=no_sync",
                 "fsdp_config.reshard_after_backward=false")):
            with self.subTest(strategy=strategy, more=more):
                chosen = nodes if "fsdp_config.comm_backend=mpi" not in more else 1
                self.check("llama", chosen, NP, *overrides(strategy, "off", "many"), *more)


def full_product():
    print("mesh  strategy                 case        checkpointing  micro  loss     norm     weights")
    failed = 0
    product = itertools.product(MESHES, STRATEGIES, CASES, CHECKPOINTING, MICRO_BATCHES)
    for (nodes, local), strategy, case, checkpointing, micro in product:
        run = Run()
        run.setUp()
        found = run.deviations(case, nodes, nodes * local,
                               *overrides(strategy, checkpointing, micro))
        run.doCleanups()
        run.tearDown()
        good = all(a < b for a, b in zip(found, (LOSS_BOUND, NORM_BOUND, WEIGHT_BOUND)))
        failed += not good
        print(f"{nodes}x{local}   {strategy:<24} {case:<11} {checkpointing:<14} {micro:<5} "
              + "  ".join(f"{value:.1e}" for value in found) + ("" if good else "  OUTSIDE"),
              flush=True)
    print(f"{failed} outside the bounds {LOSS_BOUND}, {NORM_BOUND}, {WEIGHT_BOUND}")
    return failed


if __name__ == "__main__":
    if sys.argv[1:] == ["--all"]:
        sys.exit(1 if full_product() else 0)
    unittest.main()
