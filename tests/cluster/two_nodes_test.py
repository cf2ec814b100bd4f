"""The rig itself: two hosts for MPI, a counted cable, and nothing left behind."""
import json
import os
import subprocess
import sys
import unittest

RIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_nodes.py")


def start(*arguments):
    return subprocess.Popen([sys.executable, RIG, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def processes_with(text):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:  # it has just ended
            continue
        found += [pid] if text in words else []
    return found


class TwoNodes(unittest.TestCase):
    def test_mpi_sees_two_nodes_and_the_cable_is_counted(self):
        rig = start("--ranks-per-node", "1", "--rate", "1gbit", "--count", "--",
                    os.environ["SHERD_TWO_NODES_PROGRAM"], "--gtest_filter=*World*:*TwoSteps*")
        output, _ = rig.communicate()
        self.assertEqual(rig.returncode, 0, output)
        count = json.loads(output.splitlines()[-1])
        self.assertGreater(count["n0_to_n1_bytes"], 1000)
        self.assertGreater(count["n1_to_n0_bytes"], 1000)

    def test_the_exit_code_is_the_programs(self):
        rig = start("--ranks-per-node", "1", "--", "sh", "-c", "exit 7")
        rig.communicate()
        self.assertEqual(rig.returncode, 7)

    def test_nothing_outlives_a_killed_rig(self):
        seconds = f"9{os.getpid()}"  # nobody else sleeps so long
        rig = start("--ranks-per-node", "1", "--", "sh", "-c", f"echo here; sleep {seconds}")
        # mpirun's own warnings may come before, or in the same line.
        here = 0
        while here < len(NODES):
            line = rig.stdout.readline()
            self.assertTrue(line, "the rig ended early")
            here += line.count("here")
        rig.kill()
        rig.stdout.read()  # ends when the last process that could write has ended
        rig.communicate()
        self.assertEqual(processes_with(seconds), [])


NODES = ["n0", "n1"]

if __name__ == "__main__":
    unittest.main()
