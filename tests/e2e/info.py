"""`sherd info`: where the ranks are, as a table and as JSON, and what should be changed about it."""

import json
import os
import re
import subprocess
import unittest

from program import HANG_SECONDS, MPIEXEC, PROGRAM, REFERENCE, ProgramTest

GPUS = "0000:01:00.0,0000:02:00.0"
# More cores than this machine may have, of which the system still says where a process may run.
MANY_CORES = {"HWLOC_SYNTHETIC": "package:2 core:64 pu:1", "HWLOC_THISSYSTEM": "1"}


class Info(ProgramTest):
    def launch(self, np, *command, env=None, unset=()):
        """The finished `command` on np ranks, or as a plain process when np is 0."""
        variables = {**os.environ, **(env or {})}
        for name in unset:
            variables.pop(name, None)
        launcher = [MPIEXEC, "-n", str(np)] if np else []
        return subprocess.run(launcher + [str(word) for word in command], capture_output=True,
                              text=True, timeout=HANG_SECONDS, cwd=self.folder, env=variables)

    def info(self, np, *before, **options):
        done = self.launch(np, *before, PROGRAM, "info", "--json", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def findings(self, np, *before, **options):
        found = self.info(np, *before, **options)["findings"]
        self.assertEqual(len({finding["id"] for finding in found}), len(found))
        for finding in found:
            self.assertRegex(finding["text"], r"^[^\n]+ \([^\n]+\)\. Try: [^\n]+$")
        return {finding["id"]: finding for finding in found}


class Json(Info):
    def check(self, found, np):
        self.assertEqual(sorted(found), ["backends", "devices", "findings", "format", "launch",
                                         "matrix_products", "nodes", "ranks", "shared_memory", "versions"])
        self.assertEqual((found["launch"]["ranks"], found["launch"]["nodes"]), (np, 1))
        self.assertEqual(found["launch"]["ranks_per_node"], [np])
        self.assertIsNone(found["launch"]["slurm"])
        self.assertRegex(found["launch"]["mpi_library"], r"\d+\.\d+")
        self.assertTrue(found["launch"]["mpi_thread_level"].startswith("MPI_THREAD_"))
        self.assertEqual(found["launch"]["mpi_library"], found["versions"]["MPI"])
        (node,) = found["nodes"]
        self.assertEqual(node["ranks"], np)
        self.assertLessEqual(node["allowed_cores"], node["cores"])
        self.assertEqual([rank["rank"] for rank in found["ranks"]], list(range(np)))
        for rank in found["ranks"]:
            self.assertEqual(rank["world_rank"], rank["rank"])
            self.assertEqual(rank["local_rank"], rank["rank"])
            self.assertEqual(rank["host"], node["host"])
            self.assertTrue(0 < len(rank["cores"]) <= node["allowed_cores"])
            self.assertEqual((rank["threads"], rank["threads_from"]), (1, "OMP_NUM_THREADS"))

    def test_under_mpirun(self):
        for np in (1, 2, 4):
            with self.subTest(np=np):
                found = self.info(np)
                self.check(found, np)
                self.assertEqual(found["launch"]["processes"], np)
                self.assertEqual(found["launch"]["variable"], "OMPI_COMM_WORLD_SIZE")

    def test_alone(self):
        found = self.info(0)
        self.check(found, 1)
        self.assertEqual((found["launch"]["launcher"], found["launch"]["variable"]), ("none", None))

    def test_in_a_batch_script(self):
        job = {"SLURM_JOB_ID": "17", "SLURM_JOB_NAME": "train", "SLURM_RESTART_COUNT": "2",
               "SLURM_JOB_NODELIST": "cn[0-1]", "SLURM_NTASKS": "2"}
        found = self.info(2, env=job)
        self.assertEqual(found["launch"]["slurm"],
                         {"job_id": "17", "job_name": "train", "node_list": "cn[0-1]",
                          "restart_count": 2, "tasks": 2})
        self.assertNotIn("task_count", self.findings(2, env=job))
        found = self.findings(2, env={**job, "SLURM_NTASKS": "3"})
        self.assertIn("SLURM_NTASKS is 3", found["task_count"]["text"])


class Table(Info):
    def lines(self, np, **options):
        done = self.launch(np, PROGRAM, "info", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_shows_every_rank_once(self):
        text = self.lines(2)
        self.assertRegex(text, r"(?m)^  launcher mpirun \(says OMPI_COMM_WORLD_SIZE\)$")
        self.assertRegex(text, r"(?m)^   rank host +node local  cpus +NUMA +threads  GPU$")
        for rank in (0, 1):
            self.assertEqual(len(re.findall(rf"(?m)^ +{rank} \S+ +0 +{rank}  [0-9,-]+ ", text)), 1)

    def test_folds_nodes_that_are_alike(self):
        text = self.lines(4, env={"SHERD_TEST_NODES": "4"})
        self.assertIn(" and 3 like it: ", text)
        self.assertRegex(text, r"(?m)^ +1 to 3: nodes 1 to 3 \(\S+ to \S+\), 1 rank on each, "
                               r"placed as above$")
        self.assertEqual(len(re.findall(r"(?m)^ +\d+ \S+ +\d+ +0  ", text)), 1)

    def test_shows_devices(self):
        text = self.lines(2, env={"SHERD_TEST_GPUS": GPUS})
        self.assertRegex(text, r"(?m)^ +0 .* 0: 0000:01:00\.0 \S+$")
        self.assertRegex(text, r"(?m)^ +1 .* 1: 0000:02:00\.0 \S+$")


class Findings(Info):
    def test_none_where_there_are_cores_for_all(self):
        self.assertEqual(self.findings(4, env=MANY_CORES | {"HWLOC_THISSYSTEM": "0"}), {})

    def test_at_most_one_where_there_are_not(self):
        self.assertLessEqual(len(self.findings(4)), 1)

    def test_ranks_on_one_core(self):
        core = str(min(os.sched_getaffinity(0)))
        found = self.findings(2, "taskset", "-c", core, env=MANY_CORES)
        self.assertEqual(list(found), ["ranks_share_cores"])
        text = found["ranks_share_cores"]["text"]
        self.assertRegex(text, rf"ranks 0-1 on \S+ may run on cpus {core} only")
        self.assertIn("--bind-to core", text)

    def test_unequal_nodes(self):
        found = self.findings(3, env={"SHERD_TEST_NODES": "2", **MANY_CORES})
        self.assertEqual(found["uneven_nodes"]["severity"], "error")
        done = self.launch(3, PROGRAM, "train", self.config(), env={"SHERD_TEST_NODES": "2"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("needs equal numbers"), 1, done.stderr)

    def test_several_processes_that_are_each_alone(self):
        for variables, text in (({"PMI_SIZE": "4", "PMI_RANK": "1", "MPI_LOCALNRANKS": "4"},
                                 "mpiexec (Hydra) has 4 processes, says PMI_SIZE"),
                                ({"FLUX_JOB_SIZE": "2"}, "flux run has 2 processes"),
                                ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"},
                                 "srun has 4 processes, says SLURM_STEP_NUM_TASKS")):
            for arguments in (["info"], ["train", self.config()]):
                done = self.launch(0, PROGRAM, *arguments, env=variables)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertRegex(done.stderr, r"(?m)\. Try: .*mpirun")
                self.assertNotIn("MPI_Init", done.stderr)


class Devices(Info):
    def test_one_for_each(self):
        found = self.info(2, env={"SHERD_TEST_GPUS": GPUS})
        self.assertEqual([rank["gpu"]["index"] for rank in found["ranks"]], [0, 1])
        self.assertEqual([gpu["pci"] for gpu in found["ranks"][1]["visible_gpus"]], GPUS.split(","))

    def test_each_sees_its_own(self):
        alone = ["sh", "-c", 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK exec "$0" "$@"']
        found = self.info(2, *alone, env={"SHERD_TEST_GPUS": GPUS})
        self.assertEqual([rank["gpu"]["index"] for rank in found["ranks"]], [0, 0])
        self.assertEqual([rank["gpu"]["pci"] for rank in found["ranks"]], GPUS.split(","))
        self.assertEqual([rank["cuda_visible_devices"] for rank in found["ranks"]], ["0", "1"])
        self.assertNotIn("gpu_shared", [finding["id"] for finding in found["findings"]])

    def test_shared_by_two(self):
        found = self.findings(2, env={"SHERD_TEST_GPUS": GPUS, "CUDA_VISIBLE_DEVICES": "1"})
        self.assertEqual(found["gpu_shared"]["severity"], "error")
        text = found["gpu_shared"]["text"]
        self.assertIn("ranks 0 (CUDA_VISIBLE_DEVICES=1) and 1 (CUDA_VISIBLE_DEVICES=1) on ", text)
        self.assertIn("would share GPU 0000:02:00.0", text)
        self.assertIn("--gpus-per-node=2 --gpu-bind=none", text)

    def test_fewer_than_ranks(self):
        found = self.findings(3, env={"SHERD_TEST_GPUS": GPUS})
        self.assertIn("the 3 ranks there see 2 and 2 devices", found["gpu_shared"]["text"])

    def test_a_shared_one_ends_a_run(self):
        done = self.launch(2, PROGRAM, "train", self.config(), "fsdp_config.device=cuda",
                           env={"SHERD_TEST_GPUS": GPUS, "CUDA_VISIBLE_DEVICES": "1",
                                "SHERD_TEST_DEVICE": "emulated"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("would share GPU 0000:02:00.0"), 1, done.stderr)

    def test_do_not_matter_to_a_run_without(self):
        done = self.launch(2, PROGRAM, "train", self.config(),
                           env={"SHERD_TEST_GPUS": GPUS, "CUDA_VISIBLE_DEVICES": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("share GPU", done.stderr)


class Threads(Info):
    def threads(self, np, **options):
        return [rank["threads"] for rank in self.info(np, unset=["OMP_NUM_THREADS"], **options)["ranks"]]

    def test_are_the_cores_of_a_rank(self):
        cores = len(self.info(0)["ranks"][0]["cores"])
        self.assertEqual(self.threads(0), [cores])
        self.assertEqual(self.threads(2), [max(1, cores // 2)] * 2)
        unbound = MANY_CORES | {"HWLOC_THISSYSTEM": "0"}
        self.assertEqual(self.threads(4, env=unbound), [32] * 4)

    def test_have_a_core_each_where_they_fill_them(self):
        cores = self.info(0)["ranks"][0]["cores"]
        for np in (1, 2):
            each = len(cores) // np
            ranks = self.info(np, env={"OMP_NUM_THREADS": str(each)})["ranks"]
            pinned = sorted(cpu for rank in ranks for cpu in rank["pinned_to"])
            self.assertEqual(pinned, cores if each > 1 and each * np == len(cores) else [])

    def test_are_what_the_user_says(self):
        found = self.info(2, env={"OMP_NUM_THREADS": "3"})
        self.assertEqual([rank["threads"] for rank in found["ranks"]], [3, 3])

    def test_are_said_at_the_start_of_a_run_and_give_right_results(self):
        losses = {}
        for threads in (1, 3):
            done = self.launch(2, PROGRAM, "train", self.config(f"{{init_from: {REFERENCE}/llama}}"),
                               env={"OMP_NUM_THREADS": str(threads)})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, rf"sherd \S+: 2 ranks on 1 node \(2 on each\), {threads} "
                                          r"threads? per rank, launcher mpirun")
            losses[threads] = re.findall(r"step \d/2 \| loss (\d+\.\d+)", done.stdout)
            self.assertEqual(len(losses[threads]), 2, done.stdout)
            for folder in ("run", "checkpoints"):
                subprocess.run(["rm", "-r", self.folder / folder], check=True)
        self.assertEqual(losses[1], losses[3])

    def test_that_are_no_number_are_refused(self):
        done = self.launch(2, PROGRAM, "train", self.config(), env={"OMP_NUM_THREADS": "0"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("OMP_NUM_THREADS is '0' on rank 0 (it is the number of threads that compute for a rank). "
                      "Try: a number from 1 to 4096", done.stderr)

    def test_beyond_the_cores_and_lists_are_findings(self):
        cores = len(self.info(0)["ranks"][0]["cores"])
        for threads, finding in (("1000", "threads_share_cores"), ("1,4", "threads_list"),
                                 ("none", "threads_unclear")):
            found = self.info(0, env={"OMP_NUM_THREADS": threads})
            self.assertIn(finding, [each["id"] for each in found["findings"]])
        start = self.launch(1, PROGRAM, "train", self.config(), env={"OMP_NUM_THREADS": str(cores + 1)})
        self.assertEqual(start.returncode, 0, start.stderr)
        self.assertIn(f"has {cores + 1} threads on {cores} core", start.stderr)


if __name__ == "__main__":
    unittest.main()
