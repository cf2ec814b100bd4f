"""A second family through the whole program: planned, trained, saved, resumed, exported, read again."""

import json
import unittest

from program import REFERENCE, ProgramTest

CONFIG = """model: {model}
data: {{tokens: [{reference}/llama/tokens.bin], sequence_length: 24}}
training: {{steps: 4, global_batch_size: 6, micro_batch_size: 2}}
optimizer: {{learning_rate: 0.01}}
fsdp_config: {{checkpoint_interval: 2}}
logging: {{directory: run}}
"""


class SecondFamily(ProgramTest):
    def sherd(self, *arguments, code=0, **more):
        done = super().sherd(*arguments, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def configure(self, model="{preset: tiny_gpt}"):
        self.write("run.yaml", CONFIG.format(model=model, reference=REFERENCE))

    def losses(self):
        lines = (self.folder / "run" / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines]

    def test_planned(self):
        self.configure()
        text = self.sherd("plan", "run.yaml", np=0)
        self.assertIn("for backward", text)
        self.assertIn("layers.0-1", text)

    def test_sharded_equals_unsharded(self):
        self.configure()
        self.sherd("train", "run.yaml", np=1)
        whole = self.losses()
        for strategy in ("FULL_SHARD", "NO_SHARD"):
            self.sherd("train", "run.yaml", "checkpoint.resume=never", f"fsdp_config.checkpoint_dir={strategy}",
                       f"fsdp_config.sharding_strategy={strategy}", "fsdp_config.activation_checkpointing=true",
                       np=3)
            for a, b in zip(self.losses(), whole, strict=True):
                self.assertAlmostEqual(a, b, delta=2e-5)

    def test_resumed_exported_and_read_again(self):
        self.configure()
        self.sherd("train", "run.yaml", np=2)
        straight = self.losses()
        self.sherd("train", "run.yaml", "training.steps=2", "fsdp_config.checkpoint_dir=again", np=2)
        self.assertIn("resumed from", self.sherd("train", "run.yaml", "fsdp_config.checkpoint_dir=again", np=2))
        self.assertEqual(self.losses(), straight)
        self.assertEqual(len(straight), 4)
        self.sherd("ckpt", "diff", "checkpoints/step-00000004", "again/step-00000004", np=0)
        self.sherd("ckpt", "export", "checkpoints", "--safetensors", "exported", np=0)
        config = json.loads((self.folder / "exported" / "config.json").read_text())
        self.assertEqual(config["model_type"], "tiny_gpt")
        self.configure("{init_from: exported}")
        self.sherd("train", "run.yaml", "training.steps=1", "fsdp_config.checkpoint_dir=third", np=3)
        self.assertLess(self.losses()[0], straight[0])
        self.assertTrue(self.sherd("generate", "checkpoints", "--prompt", "And", "--max-tokens", "8", np=0))

    def test_fields_choose_the_family_and_are_checked(self):
        self.configure("{n_embd: 30, n_head: 4, n_layer: 1, n_positions: 32, vocab_size: 256}")
        self.assertIn("no multiple of n_head", self.sherd("train", "run.yaml", np=1, code=2))
        self.configure("{n_embd: 16, n_head: 4, n_layer: 1, n_positions: 32, vocab_size: 256}")
        self.sherd("train", "run.yaml", np=2)


if __name__ == "__main__":
    unittest.main()
