"""What `sherd plan` prints is what a run then holds, byte for byte, on one node and on two."""

import json
import re
import shutil
import unittest
from pathlib import Path

from program import NP, REFERENCE
from reference_run import STRATEGIES, ReferenceTest

VARIANTS = ((), ("fsdp_config.comm_backend=mpi",), ("fsdp_config.mixed_precision=true",),
            ("optimizer.name=sgd",), ("fsdp_config.device=cuda",))


class Plan(ReferenceTest):
    def planned(self, *overrides, nodes=1):
        done = self.sherd("plan", "run.yaml", *overrides, "--nodes", nodes, "--ranks-per-node",
                          NP // nodes, "--json", np=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def compare(self, strategy, more, nodes):
        with self.subTest(strategy=strategy, more=more, nodes=nodes):
            for folder in ("run", "ckpt"):
                shutil.rmtree(self.folder / folder, ignore_errors=True)
            overrides = (f"fsdp_config.sharding_strategy={strategy}", "training.steps=1", *more)
            plan = self.planned(*overrides, nodes=nodes)
            self.train(*overrides, np=NP,
                       env={"SHERD_TEST_NODES": str(nodes), "SHERD_TEST_DEVICE": "emulated"})
            self.assertEqual(self.metrics(keep=["memory_bytes"])[0]["memory_bytes"],
                             plan["bytes_per_rank"]["by_kind"])

    def test_planned_equals_measured_on_one_node(self):
        self.reference_config()
        for strategy in STRATEGIES[:3]:  # on one node the hybrids are these
            for more in VARIANTS:
                self.compare(strategy, more, 1)

    if NP % 2 == 0:
        def test_planned_equals_measured_on_two_nodes(self):
            self.reference_config()
            for i, strategy in enumerate(STRATEGIES):
                self.compare(strategy, VARIANTS[i % len(VARIANTS)], 2)
            self.compare("HYBRID_SHARD_FULL_OPTIM", ("fsdp_config.mixed_precision=true",), 2)

    def test_dry_run_prints_the_plan_of_the_launch(self):
        self.reference_config()
        dry = self.sherd("train", "run.yaml", "--dry-run", np=NP)
        plan = self.sherd("plan", "run.yaml", "--ranks-per-node", NP, np=0)
        self.assertEqual(dry.stdout, plan.stdout)
        self.assertIn(f"{REFERENCE}/llama: ", plan.stdout)

    if NP == 4:
        def test_dry_run_sees_nodes(self):
            self.reference_config()
            dry = self.sherd("train", "run.yaml", "--dry-run", np=NP, env={"SHERD_TEST_NODES": "2"})
            plan = self.sherd("plan", "run.yaml", "--nodes", 2, "--ranks-per-node", 2, np=0)
            self.assertEqual(dry.stdout, plan.stdout)
            dry = self.sherd("train", "run.yaml", "--dry-run", np=NP, env={"SHERD_TEST_NODES": "3"})
            self.assertEqual((dry.returncode, dry.stdout), (2, ""))


class PlanCommand(ReferenceTest):
    def test_exit_code_says_whether_it_fits(self):
        for memory, code, text in (("80GiB", 0, "fits: "), ("1GiB", 3, "too much for 1.00 GiB. Try: ")):
            done = self.sherd("plan", "--preset", "7b", "--ranks-per-node", 8, "--memory", memory, np=0)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stdout)

    def test_a_hugging_face_folder(self):
        done = self.sherd("plan", "--model", REFERENCE / "llama", "--nodes", 4, "--strategy",
                          "HYBRID_SHARD", "--sequence-length", 16, np=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 node(s) x 1 ranks", done.stdout)

    def test_the_documentation_shows_what_is_printed(self):
        text = (Path(__file__).parents[3] / "docs" / "plan.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```\n\$ sherd (plan .*)\n((?:.+\n)+?)```", text)
        self.assertGreaterEqual(len(blocks), 4)
        for command, shown in blocks:
            lines = self.sherd(*command.split(), np=0).stdout.splitlines()
            for line in shown.splitlines():
                self.assertTrue(line == "..." or line in lines, f"{command}: {line}")

    def test_bad_input_is_one_line(self):
        self.write("config.json", '{"model_type": "gpt2"}')
        for arguments in ((), ("--preset", "8b"), ("--preset", "7b", "--memory", "much"),
                          ("--model", "config.json"), ("--model", "nowhere"), ("nowhere.yaml",),
                          ("--preset", "tiny", "--model", "config.json"),
                          ("--preset", "tiny", "--strategy", "MOST"),
                          ("--preset", "tiny", "--sequence-length", 1 << 20)):
            with self.subTest(arguments=arguments):
                done = self.sherd("plan", *arguments, np=0)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
