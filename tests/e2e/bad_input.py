"""What users get wrong: exit code 2 on all ranks, one message, printed once, no hang."""

import shutil
import struct
import unittest
from pathlib import Path

from program import NP, REFERENCE, ProgramTest, read_safetensors, write_safetensors


class BadInput(ProgramTest):
    def refused(self, *arguments, says, **options):
        """Runs and checks the exit code and that every text of `says` is printed exactly once."""
        # Open MPI gives ranks two seconds to end after another's exit code; these have ended already.
        env = {"OMPI_MCA_odls_base_sigkill_timeout": "0", **options.pop("env", {})}
        done = self.sherd(*arguments, env=env, **options)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 2, output)
        for text in says:
            self.assertEqual(output.count(text), 1, f"{text!r} in:\n{output}")
        self.assertNotIn("terminate called", output)
        self.assertNotIn("MPI_ABORT", output)
        return output

    def model_folder(self, change=None):
        """A copy of the reference model with changed tensors."""
        folder = self.folder / "model"
        shutil.copytree(REFERENCE / "llama", folder, copy_function=shutil.copyfile)
        if change:
            tensors = read_safetensors(folder / "model.safetensors")
            change(tensors)
            write_safetensors(folder / "model.safetensors", tensors)
        return folder / "model.safetensors"

    def train_model(self, says):
        self.refused("train", self.config(model="{init_from: model}"), says=says)

    def test_no_config_file(self):
        self.refused("train", "missing.yaml",
                     says=["missing.yaml: cannot be read: No such file or directory"])

    def test_misspelt_key(self):
        self.refused("train", self.config(more="optimizer:\n  learning_rte: 0.1\n"),
                     says=["run.yaml:5: optimizer.learning_rte: unknown key", "Try: learning_rate"])

    def test_all_problems_at_once(self):
        self.refused("train", self.config(more="loging: {}\ncheckpoint: {keep_last: 1}\n"),
                     "training.steps=no",
                     says=["run.yaml:4: loging: unknown key", "run.yaml:5: checkpoint.keep_last: 1",
                           "command line: training.steps: 'no' is not a whole number"])

    def test_world_size_of_another_launch(self):
        ranks = "1 rank " if NP == 1 else f"{NP} ranks "
        self.refused("train", self.config(more="fsdp_config:\n  world_size: 8\n"),
                     says=[f"run.yaml:5: fsdp_config.world_size: 8 but the launch has {ranks}",
                           "Try: mpirun -n 8"])

    def test_cuda_where_there_is_none(self):
        self.refused("train", self.config(more="fsdp_config: {device: cuda}\n"),
                     env={"SHERD_DISABLE_CUDA": "1"},
                     says=["run.yaml:4: fsdp_config.device: cuda cannot be used here",
                           "Try: device: cpu"])

    def test_tokens_beyond_the_vocabulary(self):
        tokens = [1] * 2000
        tokens[1234] = 256
        (self.folder / "t.bin").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
        config = self.config(data="{tokens: t.bin, sequence_length: 24}")
        self.refused("train", config, "training.steps=20",
                     says=["t.bin: token 1234 is 256, but the model's vocabulary has 256"])

    def test_token_file_shorter_than_a_batch(self):
        (self.folder / "t.bin").write_bytes(b"\1\0" * 144)
        self.refused("train", self.config(data="{tokens: t.bin, sequence_length: 24}"),
                     says=["t.bin: 144 tokens make 5 sequences of 24, less than one batch of 6"])

    def test_missing_tensor(self):
        self.model_folder(lambda tensors: tensors.pop("model.norm.weight"))
        self.train_model(["tensor 'model.norm.weight' is missing"])

    def test_extra_tensor(self):
        self.model_folder(lambda tensors: tensors.update(extra=["F32", [1], bytes(4)]))
        self.train_model(["tensor 'extra' is not part of the model"])

    def test_wrong_shape(self):
        def change(tensors):
            tensors["model.layers.1.mlp.up_proj.weight"][1] = [32, 88]
        self.model_folder(change)
        self.train_model(["tensor 'model.layers.1.mlp.up_proj.weight' has shape [32, 88], config.json "
                          "says [88, 32]"])

    def test_truncated_body(self):
        file = self.model_folder()
        file.write_bytes(file.read_bytes()[:-100])
        self.train_model(["model.safetensors: tensor ", "it is cut short"])

    def test_header_longer_than_the_file(self):
        file = self.model_folder()
        size = file.stat().st_size
        file.write_bytes(struct.pack("<Q", size) + file.read_bytes()[8:])
        self.train_model([f"claims a header of {size} bytes, but only {size - 8} follow"])

    def test_model_folder_without_weights(self):
        self.model_folder().unlink()
        self.train_model(["model: holds neither model.safetensors nor"])

    def test_checkpoint_folder_that_cannot_be_written(self):
        Path(self.folder, "file").write_text("x", encoding="utf-8")
        self.refused("train", self.config(), "fsdp_config.checkpoint_dir=file/ckpt",
                     says=["file/ckpt"])

    def test_log_folder_that_cannot_be_written(self):
        Path(self.folder, "file").write_text("x", encoding="utf-8")
        self.refused("train", self.config(), "logging.directory=file/run", says=["file/run"])

    def test_checkpoint_of_another_model(self):
        config = self.config()
        small = ["model.num_hidden_layers=1"]
        done = self.sherd("train", config, *small)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.refused("train", config, "model.num_hidden_layers=2",
                     says=["model.num_hidden_layers is 2, and the checkpoint was saved with 1 "])

    def test_other_data_on_resume(self):
        config = self.config()
        self.assertEqual(self.sherd("train", config).returncode, 0)
        tokens = (REFERENCE / "llama" / "tokens.bin").read_bytes()
        (self.folder / "t.bin").write_bytes(tokens[:-2] + b"\7\0")
        self.refused("train", config, "data.tokens=t.bin", says=["t.bin has other content"])

    def test_must_resume_without_a_checkpoint(self):
        self.refused("train", self.config(), "checkpoint.resume=must", says=["holds no checkpoint"])

    def test_one_rank_fails_in_forward(self):
        guilty = NP - 1
        done = self.sherd("train", self.config(), env={"SHERD_TEST_THROW": f"{guilty}:2"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("forward of step 2 failed", done.stderr)
        self.assertRegex(done.stderr, r"\(\S*train\S*\.cpp:\d+\)")
        if NP > 1:
            self.assertRegex(done.stderr, rf"\[rank {guilty} @ \S+\] error: ")


if __name__ == "__main__":
    unittest.main()
