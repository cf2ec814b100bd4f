"""Folders of other programs' models: trained on as they are meant, or refused without blaming the file."""

import json
import shutil
import unittest

from program import REFERENCE, ProgramTest, read_safetensors, write_safetensors

QUICK = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}  # a refused run has ended on its own
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}


class ModelFolders(ProgramTest):
    def folder_of(self, name, **keys):
        """A copy of the reference model with changed keys in its config.json."""
        folder = self.folder / name
        shutil.copytree(REFERENCE / "llama", folder, copy_function=shutil.copyfile)
        config = json.loads((folder / "config.json").read_text())
        config.update(keys)
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    def train(self, name, *arguments):
        return self.sherd("train", self.config(model=f"{{init_from: {name}}}"),
                          *(arguments or [f"fsdp_config.checkpoint_dir={name}-ckpt"]), env=QUICK)

    def refused(self, name, says):
        done = self.train(name)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 2, output)
        for text in says:
            self.assertEqual(output.count(text), 1, f"{text!r} in:\n{output}")
        self.assertNotIn("again", output)

    def loss(self, name):
        done = self.train(name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = (self.folder / "run" / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines if "loss" in json.loads(line)]

    def test_scaled_positions_are_trained_stored_and_exported(self):
        self.folder_of("plain")
        self.folder_of("scaled", rope_scaling=LLAMA3)
        self.assertNotEqual(self.loss("plain"), self.loss("scaled"))
        done = self.sherd("ckpt", "export", "scaled-ckpt", "--safetensors", "out", np=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        exported = json.loads((self.folder / "out" / "config.json").read_text())
        self.assertEqual(exported["rope_scaling"], LLAMA3)
        done = self.train("plain", "fsdp_config.checkpoint_dir=scaled-ckpt", "training.steps=3")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("model.rope_scaling is not set, and the checkpoint was saved with", done.stderr)
        done = self.sherd("plan", "--model", "scaled", np=0)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_other_arithmetic(self):
        self.folder_of("granite", attention_multiplier=0.0078125, logits_scaling=8.0)
        self.refused("granite", ["config.json: attention_multiplier: 0.0078125 is not supported",
                                 "config.json: logits_scaling: 8.0 is not supported"])

    def test_sizes_that_no_machine_holds(self):
        self.folder_of("huge", hidden_size=10**9)
        self.refused("huge", ["config.json: model.hidden_size is 1000000000", " bytes in f32"])

    def test_quantised_weights(self):
        file = self.folder_of("fp8") / "model.safetensors"
        tensors = read_safetensors(file)
        for name, tensor in tensors.items():
            if "proj" in name:
                tensor[0], tensor[2] = "F8_E4M3", bytes(len(tensor[2]) // 4)
        write_safetensors(file, tensors)
        self.refused("fp8", ["fp8/model.safetensors: tensor 'model.layers.0.mlp.down_proj.weight' is of "
                             "type F8_E4M3", "Try: the model's bf16 version"])


if __name__ == "__main__":
    unittest.main()
