"""A run that Slurm stops three times, each time in another way, is the run it would have been without."""
import os
import re
import signal
import subprocess
import unittest

import slurm_cluster
from slurm_job import JOBS, LAUNCHERS, PROGRAM, REFERENCE, Job, difference


def slurm(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


# Long enough for a step to be seen and the ranks stopped well before the next one that is waited for.
RUN = ["run.yaml", "training.steps=240", "training.global_batch_size=48", "fsdp_config.checkpoint_interval=20"]
FIRST, SECOND, THIRD = 5, 80, 160


class Preemption(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.Cluster(shared=[PROGRAM, JOBS, REFERENCE])

    def signal_ranks(self, job, number):
        for pid in job.ranks(*self.cluster.nodes):
            os.kill(pid, number)

    def hold_at_step(self, jobs, step, start):
        """Stops the ranks, so that nothing depends on how fast what comes next is."""
        for job in jobs:
            job.wait_for_text(rf"(?m)^step {step}/", start)
            self.signal_ranks(job, signal.SIGSTOP)

    def let_go(self, jobs):
        for job in jobs:
            self.signal_ranks(job, signal.SIGCONT)

    def signalled_by_the_user(self, jobs):
        """Slurm passes it to the ranks under srun; under mpirun the job's script has to have it."""
        self.hold_at_step(jobs, FIRST, start=0)
        for job, batch in zip(jobs, ([], ["--batch"])):
            slurm("scancel", *batch, "--signal=USR1", job.id)
        self.let_go(jobs)

    def preempted_by_another_job(self, jobs):
        """Slurm sends SIGTERM to the steps and grants a minute. mpirun's daemons end at that."""
        self.hold_at_step(jobs, SECOND, start=1)
        slurm("sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=true")
        for job in jobs:
            job.wait_for(lambda job=job: job.field("PreemptTime")[:1] == "2", "the job was preempted")
        self.let_go(jobs)

    def reaching_the_time_limit(self, jobs):
        """Slurm looks at the limits twice a minute. As the scripts ship, it warns five minutes before."""
        self.hold_at_step(jobs, THIRD, start=2)
        for job in jobs:
            slurm("scontrol", "update", f"JobId={job.id}", "TimeLimit=5")
        for job in jobs:
            job.wait_for_text("SIGUSR1 after", start=2)
        self.let_go(jobs)
        for job in jobs:
            job.wait_for(lambda job=job: job.field("JobState") == "PENDING", "the job was requeued")
            slurm("scontrol", "update", f"JobId={job.id}", "TimeLimit=60")

    def test_three_times_is_bit_equal_to_none(self):
        whole = Job("train_cpu.sbatch", *RUN, folder="whole")
        self.assertEqual(whole.wait_for_end(), ("COMPLETED", 0), whole.log())
        jobs = [Job("train_cpu.sbatch", *RUN, folder=launcher, env={"LAUNCHER": launcher},
                    options=["--time=60"]) for launcher in LAUNCHERS]
        self.signalled_by_the_user(jobs)
        self.preempted_by_another_job(jobs)
        self.reaching_the_time_limit(jobs)
        for launcher, job in zip(LAUNCHERS, jobs):
            self.assertEqual(job.wait_for_end(), ("COMPLETED", 0), job.log())
            self.check_log(job, launcher)
            self.assertEqual(job.metrics(), whole.metrics())
            self.assertRegex(difference(whole, job), r"^\d\d+ tensors equal, 0 differ\n$")

    def check_log(self, job, launcher):
        starts = job.starts()
        self.assertEqual(len(starts), 4, job.log())
        for number, text in enumerate(starts):
            self.assertRegex(text, rf"^sherd job: {job.id}, start {number}, .*: 4 ranks on n\[0-1\].*{launcher}\n")
            if number > 0:
                self.assertRegex(text, r"(?m)^resumed from ckpt/step-\d+ at step \d+$")
            if number < 3:
                self.assertRegex(text, "sherd job: .*; back in the queue")
        stopped = re.search(r"stopped by signal after step (\d+), saved", starts[0])
        self.assertIn(int(stopped.group(1)) if stopped else None, range(FIRST, SECOND), starts[0])
        self.assertIn("SIGUSR1 after", starts[2])
        self.assertIn("done: 240 steps", starts[3])


if __name__ == "__main__":
    slurm_cluster.enter()
    unittest.main()
