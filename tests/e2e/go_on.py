"""What a run may go on from: the same model, its checkpoint alone, another run's; and when it is not done."""

import hashlib
import json
import shutil
import unittest

import h5py

from program import REFERENCE, ProgramTest

TINY = ("{vocab_size: 256, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2, "
        "num_attention_heads: 4, num_key_value_heads: 2}")


class GoOn(ProgramTest):
    def config(self, model=TINY, **more):
        return super().config(model=model, **more)

    def train(self, *overrides, expect=0, np=0):
        # Open MPI gives ranks two seconds to end after another's exit code; these have ended already.
        done = self.sherd("train", "run.yaml", *overrides, np=np,
                          env={"OMPI_MCA_odls_base_sigkill_timeout": "0"})
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, expect, output)
        return output

    def tree(self, name):
        """Every file below a folder with its contents."""
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted((self.folder / name).rglob("*")) if path.is_file()}

    def stored(self, key, step, folder="checkpoints"):
        section, name = key.split(".")
        with h5py.File(self.folder / folder / f"step-{step:08}" / "index.h5", "r") as index:
            return json.loads(index["/meta/config"][()])[section][name]

    def losses(self):
        lines = (self.folder / "run" / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines]

    def model_folder(self):
        shutil.copytree(REFERENCE / "llama", self.folder / "model", copy_function=shutil.copyfile)
        self.config(model="{init_from: model}")
        return self.folder / "model"

    def refused(self, *overrides, says, count=1, np=0):
        """Exit code 2, a line a key, and not a byte of the earlier run changed."""
        before = {**self.tree("checkpoints"), **self.tree("run")}
        output = self.train(*overrides, expect=2, np=np)
        for text in says:
            self.assertEqual(output.count(text), 1, f"{text!r} in:\n{output}")
        self.assertEqual(output.count("the checkpoint was saved with"), count, output)
        self.assertEqual({**self.tree("checkpoints"), **self.tree("run")}, before)

    def test_a_resume_as_another_model_is_refused(self):
        self.config()
        self.train()
        self.refused("training.steps=3", "model.num_attention_heads=8", "model.num_key_value_heads=4",
                     says=["model.num_attention_heads is 8, and the checkpoint was saved with 4 (its "
                           "weights would be another model). Try: model.num_attention_heads=4",
                           "model.num_key_value_heads is 4, ", "model.head_dim is "], count=3, np=2)
        self.refused("model.rope_theta=100.0", "model.rms_norm_eps=0.1", "optimizer.learning_rate=0.1",
                     says=["model.rope_theta is 100.0, and the checkpoint was saved with 10000.0 ",
                           "model.rms_norm_eps is 0.1, and the checkpoint was saved with 1e-05 "], count=2)
        self.refused("training.seed=1", "training.global_batch_size=4",
                     says=["training.seed is 1, ", "training.global_batch_size is 4, "], count=2)

    def test_other_sizes_in_the_folder_that_it_began_with(self):
        config = self.model_folder() / "config.json"
        self.train()
        config.write_text(config.read_text().replace("1e-05", "1e-02"), encoding="utf-8")
        self.refused("training.steps=3", says=["model.rms_norm_eps is 0.01, and the checkpoint was "
                                               "saved with 1e-05 ", "Try: a model.init_from whose config.json"])

    def test_another_course_is_said_once_and_stored(self):
        self.config()
        self.train()
        changed = ["optimizer.learning_rate=0.02", "training.max_grad_norm=0.5", "logging.interval=2",
                   "fsdp_config.sharding_strategy=NO_SHARD", "training.micro_batch_size=2"]
        output = self.train("training.steps=3", *changed)
        lines = [line for line in output.splitlines() if "the checkpoint was saved with" in line]
        self.assertEqual(lines, [
            "training.steps is 3 now, the checkpoint was saved with 2",
            "training.max_grad_norm is 0.5 now, the checkpoint was saved with 1.0",
            "optimizer.learning_rate is 0.02 now, the checkpoint was saved with 0.001"])
        self.assertEqual(self.stored("optimizer.learning_rate", 2), 0.001)
        self.assertEqual(self.stored("optimizer.learning_rate", 3), 0.02)
        output = self.train("training.steps=3", *changed)
        self.assertNotIn("the checkpoint was saved with", output)

    def test_the_weights_it_began_with_may_be_gone(self):
        weights = self.model_folder() / "model.safetensors"
        self.train("training.steps=4", "fsdp_config.checkpoint_dir=whole")
        whole = self.losses()
        self.train("training.steps=2", "logging.directory=part", np=2)
        shutil.rmtree(self.folder / "run")
        weights.unlink()
        self.train("training.steps=4", np=2)
        for now, then in zip(self.losses(), whole[2:]):
            self.assertAlmostEqual(now, then, delta=1e-5)
        output = self.train("fsdp_config.checkpoint_dir=new", expect=2)
        self.assertIn("model: holds neither model.safetensors nor", output)

    def test_the_folder_it_began_with_may_be_gone(self):
        shutil.rmtree(self.model_folder().rename(self.folder / "elsewhere"))
        output = self.train(expect=2)
        self.assertIn("model.init_from: model/config.json: ", output)
        self.model_folder()
        self.train()
        shutil.rmtree(self.folder / "model")
        output = self.train("training.steps=3", np=2)
        self.assertIn("model.init_from: model/config.json is not there; the sizes are those of "
                      "checkpoints/step-00000002", output)
        self.assertIn("done: 3 steps", output)
        self.assertEqual(self.stored("model.num_attention_heads", 3), 4)

    def test_another_runs_checkpoint(self):
        self.config()
        self.train("training.steps=3", "fsdp_config.checkpoint_interval=1", "fsdp_config.checkpoint_dir=other")
        straight = self.losses()
        other = self.tree("other")
        output = self.train("training.steps=3", "checkpoint.load_from=other/step-00000001", np=2)
        self.assertIn("started from other/step-00000001 at step 1", output)
        for now, then in zip(self.losses(), straight, strict=True):
            self.assertAlmostEqual(now, then, delta=1e-5)
        output = self.train("training.steps=4", "checkpoint.load_from=other", "checkpoint.resume=must")
        self.assertIn("resumed from checkpoints/step-00000003 at step 3", output)  # its own comes first
        output = self.train("training.steps=3", "checkpoint.load_from=other", "fsdp_config.checkpoint_dir=new",
                            "checkpoint.resume=must")
        self.assertIn("started from other/step-00000003 at step 3", output)
        self.assertTrue((self.folder / "new" / "step-00000003").is_dir())  # all its steps, and saved
        self.assertEqual(self.tree("other"), other)

    def test_another_runs_checkpoint_that_cannot_be(self):
        self.config()
        self.train("fsdp_config.checkpoint_dir=other")
        output = self.train("checkpoint.load_from=other", "model.rope_theta=99.0", expect=2)
        self.assertIn("model.rope_theta is 99.0, and the checkpoint was saved with 10000.0", output)
        for name in ("nowhere", "run.yaml"):
            output = self.train(f"checkpoint.load_from={name}", expect=2)
            self.assertIn("checkpoint.load_from: ", output)
        (self.folder / "link").symlink_to("other")
        for own in ("other", "./other/", "other/step-00000002", "link", "link/step-00000002"):
            output = self.train("fsdp_config.checkpoint_dir=other", f"checkpoint.load_from={own}", expect=2)
            self.assertIn(f"checkpoint.load_from: {own} is the run's own", output)
        shard = self.folder / "other" / "step-00000002" / "shards" / "node-00000.h5"
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 1
        shard.write_bytes(data)
        other = self.tree("other")
        output = self.train("checkpoint.load_from=other", expect=2)
        self.assertIn("checkpoint.load_from: checkpoint 'other/step-00000002' is damaged", output)
        self.assertEqual(self.tree("other"), other)  # another run's folder is not set aside

    def test_a_run_that_learnt_nothing_is_not_done(self):
        self.config(more="fsdp_config: {mixed_precision: true, fp16: true, initial_loss_scale: 1.0e+12}\n")
        for _ in range(2):  # and it stays so when it is started again
            output = self.train(expect=1, np=2)
            self.assertIn("error: all 2 updates were left out, as their gradients overflowed fp16", output)
            self.assertNotIn("done: ", output)
            self.assertNotIn("MPI_ABORT", output)
        output = self.train("training.steps=40", "logging.interval=1000")
        self.assertIn("done: 40 steps", output)


if __name__ == "__main__":
    unittest.main()
