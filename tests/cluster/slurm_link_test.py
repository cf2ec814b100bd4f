"""A link that is cut under a job: what is said, and how long until every process is gone on both sides."""
import unittest

import slurm_cluster
from slurm_faults_test import SLACK, TIMEOUT, TO_SAY_SO, FaultTest

# The rank that says so waited for the other node, or for the rank of its own node that did. In a collective
# of the engine it also names the ranks that do not answer.
UNREACHABLE = (rf"(?m)\[rank \d @ n0\] error: (\w+ of .* was not complete after|rank \d waited) {TIMEOUT} s "
               r"(.*ranks 2, 3: no answer|((?!The ranks last issued).)*$)")

# The script's word, unless Slurm has noticed the node first and ended the script.
OVER = "sherd job: (ended with code|mpirun has no ranks left)|DUE TO NODE FAILURE"


class Link(FaultTest):
    def test_a_cut_link_ends_all_ranks(self):
        jobs = self.start("link", "training.steps=100000")
        for job in jobs:
            job.wait_for_text("(?m)^step 5/")
        ranks = [job.ranks(*self.cluster.nodes) for job in jobs]
        self.cluster.nodes[1].cut_off()
        self.until_gone("cut link", jobs, ranks, TIMEOUT + TO_SAY_SO + SLACK)
        for job in jobs:
            self.assertRegex(job.log(), UNREACHABLE)
            job.wait_for_text(OVER)


if __name__ == "__main__":
    slurm_cluster.enter()
    unittest.main()
