"""How ranks are started under Slurm: what `sherd info` sees, mistakes, a slow link, scaling and resuming."""
import json
import subprocess
import unittest

import slurm_cluster
from slurm_job import CLEAN_ENVIRONMENT, ENVIRONMENT, JOBS, PROGRAM, REFERENCE, Job, difference


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          env={**CLEAN_ENVIRONMENT, "SLURM_CONF": slurm_cluster.CONF, **ENVIRONMENT})


def srun(*arguments):
    return run("srun", "--nodes=2", "--ntasks-per-node=2", *arguments)


class Launch(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.Cluster(shared=[PROGRAM, JOBS, REFERENCE])

    def info(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def hosts(self, info):
        return [rank["host"] for rank in info["ranks"]]

    def test_srun_without_pmix_is_refused(self):
        done = srun("--mpi=none", PROGRAM, "info")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("srun has 4 processes", done.stderr)
        self.assertIn("Try: srun --mpi=pmix, or mpirun", done.stderr)

    def test_info_under_srun_with_ranks_of_a_node_apart(self):
        block = self.info(srun("--mpi=pmix", "--distribution=block", PROGRAM, "info", "--json"))
        self.assertEqual(self.hosts(block), ["n0", "n0", "n1", "n1"])
        done = srun("--mpi=pmix", "--distribution=cyclic", PROGRAM, "info")
        self.assertIn("the launcher has put its ranks 0,2 on n0", done.stdout)
        cyclic = self.info(srun("--mpi=pmix", "--distribution=cyclic", PROGRAM, "info", "--json"))
        self.assertEqual(self.hosts(cyclic), ["n0", "n0", "n1", "n1"])

    def test_info_by_mpirun_and_alone(self):
        wrap = f"--wrap=mpirun --bind-to none {PROGRAM} info --json; {PROGRAM} info --json >alone"
        job = Job(folder="info", options=["--ntasks-per-node=2", wrap])
        self.assertEqual(job.wait_for_end(), ("COMPLETED", 0), job.log())
        self.assertEqual(self.hosts(json.loads(job.log())), ["n0", "n0", "n1", "n1"])
        self.assertEqual(self.hosts(json.loads((job.folder / "alone").read_text())), ["n0"])

    def test_a_slow_link_changes_no_bits_and_a_folder_can_be_resumed(self):
        """The first job runs over the whole link, the second to half of its steps over a slow one."""
        steps = ("training.steps=16", "optimizer.schedule=constant")
        fast = Job("train_cpu.sbatch", "run.yaml", *steps, folder="fast")
        self.assertEqual(fast.wait_for_end(), ("COMPLETED", 0), fast.log())
        for node in self.cluster.nodes:
            node.limit_rate("20mbit")
        half = Job("train_cpu.sbatch", "run.yaml", "training.steps=8", *steps[1:], folder="slow")
        self.assertEqual(half.wait_for_end(), ("COMPLETED", 0), half.log())
        rest = Job("resume.sbatch", "run", steps[0], folder="slow")
        self.assertEqual(rest.wait_for_end(), ("COMPLETED", 0), rest.log())
        for node in self.cluster.nodes:
            node.limit_rate(None)
        self.assertIn("resumed from ckpt/step-00000008 at step 8", rest.log())
        self.assertEqual(rest.metrics(), fast.metrics())
        self.assertRegex(difference(fast, rest), r"(?m)^\d\d+ tensors equal, 0 differ$")

    def test_the_scaling_table(self):
        job = Job("scaling.sbatch", "run.yaml", folder="scaling", env={"STEPS": "8"})
        self.assertEqual(job.wait_for_end(), ("COMPLETED", 0), job.log())
        for kind in ("strong", "weak"):
            self.assertRegex(job.log(), rf"(?m)^{kind} +1 +[\d.,]+ +[\d,]+ +[\d,]+ +100%$")
            self.assertRegex(job.log(), rf"(?m)^{kind} +2 +[\d.,]+ +[\d,]+ +[\d,]+ +\d+%$")
        configured = (job.folder / f"scaling-{job.id}/weak-2/config.yaml").read_text()
        self.assertRegex(configured, r"global_batch_size: 48\b")


if __name__ == "__main__":
    slurm_cluster.enter()
    unittest.main()
