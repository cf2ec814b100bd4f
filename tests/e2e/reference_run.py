"""Training on the reference cases through the program, and what comes out of it."""

import json

from program import REFERENCE, ProgramTest

CONFIG = """config_version: 1
model: {{init_from: {reference}/{case}}}
data: {{tokens: [{reference}/{case}/tokens.bin], sequence_length: 24, order: sequential}}
training: {{steps: 10, global_batch_size: 6, micro_batch_size: 3, max_grad_norm: 1.0, seed: 0}}
optimizer:
  name: adamw
  learning_rate: 1.0e-2
  betas: [0.9, 0.95]
  epsilon: 1.0e-8
  weight_decay: 0.1
  decay: all
fsdp_config: {{sharding_strategy: FULL_SHARD, device: cpu, checkpoint_interval: 5, checkpoint_dir: ckpt}}
checkpoint: {{keep_last: 3}}
logging: {{directory: run, interval: 100}}
"""
STRATEGIES = ("NO_SHARD", "SHARD_GRAD_OP", "FULL_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2",
              "HYBRID_SHARD_FULL_OPTIM")
TIMES = ("step_seconds", "tokens_per_second", "checkpoint_stall_seconds", "checkpoint")


class ReferenceTest(ProgramTest):
    def reference_config(self, case="llama"):
        self.write("run.yaml", CONFIG.format(reference=REFERENCE, case=case))

    def train(self, *overrides, np, env=None, expect=0):
        done = self.sherd("train", "run.yaml", *overrides, np=np, env=env)
        output = done.stdout + done.stderr
        if expect is not None:
            self.assertEqual(done.returncode, expect, output)
        return output

    def metrics(self, folder="run", keep=("step", "loss", "grad_norm")):
        """The lines of metrics.jsonl; keep=None: all but the times."""
        lines = [json.loads(line) for line in
                 (self.folder / folder / "metrics.jsonl").read_text().splitlines()]
        if keep is None:
            return [{k: v for k, v in line.items() if k not in TIMES} for line in lines]
        return [{k: line[k] for k in keep} for line in lines]
