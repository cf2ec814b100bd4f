"""Ranks that were given different things end before the first step, with one message, nothing lost."""

import os
import shutil
import subprocess
import unittest

from program import HANG_SECONDS, MPIEXEC, PROGRAM, REFERENCE, ProgramTest, read_safetensors, write_safetensors


class Agreement(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config()

    def launch(self, *commands):
        """One rank a command."""
        parts = []
        for command in commands:
            parts += [":"] * bool(parts) + ["-n", "1", *command]
        # Open MPI gives ranks two seconds to end after another's exit code; these have ended already.
        env = {**os.environ, "OMPI_MCA_odls_base_sigkill_timeout": "0"}
        return subprocess.run([MPIEXEC, *parts], capture_output=True, text=True, errors="replace",
                              timeout=HANG_SECONDS, cwd=self.folder, env=env)

    def ranks(self, *arguments_of_ranks):
        return self.launch(*[[PROGRAM, "train", "run.yaml", *more] for more in arguments_of_ranks])

    def refused(self, done, *says):
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 2, output)
        for text in says:
            self.assertEqual(output.count(text), 1, f"{text!r} in:\n{output}")
        self.assertNotIn("step 1/", output)
        self.assertFalse((self.folder / "checkpoints").exists())
        self.assertFalse((self.folder / "run").exists())
        return output

    def test_one_key_with_ranks_and_both_values(self):
        done = self.ranks([], ["optimizer.learning_rate=0.05"], [])
        output = self.refused(done, "optimizer.learning_rate is 0.001 on ranks 0, 2 (0: ",
                              "and 0.05 on rank 1 (", "Try: the same program, configuration")
        self.assertNotIn("optimizer.betas", output)

    def test_any_key(self):
        changes = {"training.max_grad_norm": "0.01", "optimizer.betas": "[0.5,0.6]",
                   "model.rms_norm_eps": "0.1", "training.norm_type": "inf", "data.order": "shuffled",
                   "fsdp_config.comm_backend": "mpi", "checkpoint.layout": "per_rank",
                   "fsdp_config.reduce_dtype": "bf16"}
        done = self.ranks([], [f"{key}={value}" for key, value in changes.items()])
        self.refused(done, *[f"{key} is " for key in changes], "fsdp_config.reduce_dtype is not set on")

    def test_variables_that_change_the_run(self):
        train = [PROGRAM, "train", "run.yaml"]
        self.refused(self.launch(train, ["env", "SHERD_IO=pwrite", *train]),
                     'SHERD_IO is not set on rank 0 (', 'and "pwrite" on rank 1 (')
        self.refused(self.launch(["env", "SHERD_COMM_TIMEOUT=88", *train],
                                 ["env", "SHERD_COMM_TIMEOUT=77", *train]),
                     'SHERD_COMM_TIMEOUT is "88" on rank 0 (', 'and "77" on rank 1 (')

    def test_what_may_differ(self):
        train = [PROGRAM, "train", "run.yaml"]
        done = self.launch([*train, "fsdp_config.local_rank=0"],
                           ["env", "SHERD_LOG=warn", *train, "fsdp_config.local_rank=1"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        listed = self.sherd("ckpt", "ls", "checkpoints", np=0).stdout
        self.assertIn("2  committed", listed)

    def test_a_rank_without_its_file_is_named(self):
        done = self.launch([PROGRAM, "train", "run.yaml"], [PROGRAM, "train", "gone.yaml"])
        self.refused(done, "rank 1 on ", "gone.yaml: cannot be read: No such file or directory")

    def test_another_command_line(self):
        train = [PROGRAM, "train", "run.yaml"]
        self.refused(self.launch(train, [*train, "--unknown"]), "rank 1 on ", "--unknown")
        self.refused(self.launch(train, [PROGRAM, "info"]),
                     "the command is train on rank 0 (", "and info on rank 1 (")
        self.refused(self.launch(train, [*train, "--dry-run"]), "and train --dry-run on rank 1 (")

    def in_two_folders(self, name):
        """A rank in the test's folder and one in a copy of it, which a node of its own would see."""
        here, there = self.folder, self.folder / "stale"
        (here / name).parent.mkdir(exist_ok=True)
        shutil.copytree(here, there, ignore=shutil.ignore_patterns("stale"))
        command = [PROGRAM, "train", "run.yaml"]
        return [command, ["sh", "-c", 'cd stale && exec "$@"', "sh", *command]], there / name

    def test_a_stale_data_file(self):
        (self.folder / "t.txt").write_text("in the beginning " * 100, encoding="utf-8")
        self.config(data="{text: [t.txt], sequence_length: 24}")
        commands, stale = self.in_two_folders("t.txt")
        stale.write_text("at the beginning " * 100, encoding="utf-8")
        self.refused(self.launch(*commands), 'data file 1 is "t.txt" (1700 bytes, xxh3 ', "on rank 1 (")

    def test_a_stale_model_folder(self):
        shutil.copytree(REFERENCE / "llama", self.folder / "model", copy_function=shutil.copyfile)
        self.config(model="{init_from: model}")
        commands, stale = self.in_two_folders("model/config.json")
        stale.write_text(stale.read_text().replace("1e-05", "1e-02"), encoding="utf-8")
        self.refused(self.launch(*commands), "model.rms_norm_eps is 1e-05 on rank 0 (",
                     "and 0.01 on rank 1 (")

    def test_stale_weights(self):
        shutil.copytree(REFERENCE / "llama", self.folder / "model", copy_function=shutil.copyfile)
        self.config(model="{init_from: model}")
        commands, stale = self.in_two_folders("model/model.safetensors")
        tensors = read_safetensors(stale)
        tensors["model.norm.weight"][2] = bytes(len(tensors["model.norm.weight"][2]))
        write_safetensors(stale, tensors)
        self.refused(self.launch(*commands), "the beginning of tensor norm.weight of model.init_from is ",
                     "(the model would be a mixture)")


if __name__ == "__main__":
    unittest.main()
