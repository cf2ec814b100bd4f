"""Ranks and nodes that fail under a job: what is said, and how long until every process is gone.
The times are printed as a table (docs/cluster.md)."""
import os
import signal
import time
import unittest

import slurm_cluster
from slurm_job import JOBS, LAUNCHERS, PROGRAM, REFERENCE, Job

TIMEOUT = 6  # seconds a rank waits for others
TO_SAY_SO = 10  # seconds more to print, abort and, where Slurm or mpirun cannot be reached, end alone
SLACK = 20  # of a crowded machine


class FaultTest(unittest.TestCase):
    """What the tests of faults share."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.Cluster(shared=[PROGRAM, JOBS, REFERENCE])
        cls.table = []

    @classmethod
    def tearDownClass(cls):
        print("\nwhat | launcher | seconds until every rank is gone\n" + "\n".join(cls.table))

    def start(self, name, *arguments, options=(), env=None):
        """A job by each launcher."""
        return [Job("train_cpu.sbatch", "run.yaml", *arguments, folder=f"{name}-{launcher}", options=options,
                    env={"LAUNCHER": launcher, "SHERD_COMM_TIMEOUT": str(TIMEOUT), "KILL_AFTER": "5",
                         **(env or {})})
                for launcher in LAUNCHERS]

    def until_gone(self, what, jobs, ranks, limit):
        """Waits until none of the ranks runs any more, whose numbers `ranks` holds for each job."""
        begin = time.monotonic()
        left = dict(zip(LAUNCHERS, ranks))
        while left:
            for launcher in [name for name, pids in left.items() if not any(map(is_alive, pids))]:
                self.table.append(f"{what} | {launcher} | {time.monotonic() - begin:.1f}")
                del left[launcher]
            if time.monotonic() - begin > limit:
                self.fail(f"{what}: after {limit} s these are left: {left}\n" +
                          "".join(job.log() for job in jobs))
            time.sleep(0.02)


class Faults(FaultTest):
    def test_a_killed_rank_ends_the_job(self):
        jobs = self.start("rank", "training.steps=100000")
        for job in jobs:
            job.wait_for_text("(?m)^step 5/")
        ranks = [job.ranks(*self.cluster.nodes) for job in jobs]
        for job in jobs:
            os.kill(job.ranks(self.cluster.nodes[1])[0], signal.SIGKILL)
        self.until_gone("killed rank", jobs, ranks, TIMEOUT + TO_SAY_SO + SLACK)
        for job, message in zip(jobs, (r"srun: error: n1: task \d: Killed",
                                       r"process rank \d with PID \d+ on node n1 exited on signal 9")):
            self.assertEqual(job.wait_for_end()[0], "FAILED")
            self.assertRegex(job.log(), message)
            self.assertIn("sherd job: ended with code", job.log())

    def test_a_node_that_dies_in_a_save_leaves_the_run_to_the_other(self):
        jobs = self.start("node", "training.steps=30", options=["--nodes=1-2"],
                          env={"SHERD_TEST_WRITE_BYTES_PER_SECOND": "60000"})
        for job in jobs:
            job.wait_for_text("(?m)^step 2[1-9]/.* step 20 writing")
        ranks = [job.ranks(*self.cluster.nodes) for job in jobs]
        self.cluster.nodes[1].die()
        self.until_gone("killed node", jobs, ranks, TIMEOUT + TO_SAY_SO + SLACK)
        for job in jobs:
            self.assertEqual(job.wait_for_end(120), ("COMPLETED", 0), job.log())
            last = job.starts()[-1]
            self.assertRegex(last, r"^sherd job: \d+, start \d, .*: 2 ranks on n0 ")
            self.assertIn("resumed from ckpt/step-00000010 at step 10", last)
            self.assertIn("done: 30 steps", last)
            self.assertEqual([line["step"] for line in job.metrics()], list(range(1, 31)))


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    slurm_cluster.enter()
    unittest.main()
