"""Two runs started at random moments with one checkpoint directory, some of them killed: no committed
checkpoint is lost or replaced, and no run ends well without its own last checkpoint. SHERD_PAIRS says how
many pairs are tried (3), SHERD_SEED which (1)."""

import json
import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

from program import HANG_SECONDS, MPIEXEC, PROGRAM, ProgramTest

PAIRS = int(os.environ.get("SHERD_PAIRS", "3"))
SEED = int(os.environ.get("SHERD_SEED", "1"))
STRATEGIES = ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"]
MODEL = ("{vocab_size: 256, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2, "
         "num_attention_heads: 4, num_key_value_heads: 2}")


class Pair:
    """Two processes, and what was seen committed while they ran."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self.seen = {}  # step folder: uuid
        self.said = []

    def start(self, number):
        ranks = self.rng.choice([1, 2])
        command = [MPIEXEC, "-n", str(ranks), PROGRAM, "train", "run.yaml",
                   f"training.steps={12 + 3 * number}", f"logging.directory=log{number}",
                   f"optimizer.learning_rate={0.01 * number}",
                   f"fsdp_config.sharding_strategy={self.rng.choice(STRATEGIES)}"]
        environment = {**os.environ, "SHERD_TEST_WRITE_BYTES_PER_SECOND": "1000000"}
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True)

    def look(self, problems):
        for manifest in sorted((self.folder / "checkpoints").glob("step-*/COMMITTED.json")):
            try:
                uuid = json.loads(manifest.read_text())["uuid"]
            except OSError:
                continue
            if self.seen.setdefault(manifest.parent.name, uuid) != uuid:
                problems.append(f"{manifest.parent.name} was replaced")

    def run(self):
        problems = []
        first = self.start(1)
        begin = time.monotonic()
        second, kill_at = None, self.rng.choice([None, self.rng.uniform(0.1, 1.5)])
        start_at, victim = self.rng.uniform(0.0, 1.2), self.rng.choice([0, 1])
        while second is None or first.poll() is None or second.poll() is None:
            now = time.monotonic() - begin
            if second is None and now > start_at:
                second = self.start(2)
            if kill_at is not None and second is not None and now > kill_at:
                os.killpg([first, second][victim].pid, signal.SIGKILL)
                kill_at = None
            self.look(problems)
            if now > HANG_SECONDS:
                problems.append("a run hangs")
                break
        self.look(problems)
        for number, process in ((1, first), (2, second)):
            self.said.append(process.communicate(timeout=HANG_SECONDS)[0])
            if process.returncode == 0 and not self.has_last(number):
                problems.append(f"run {number} ended well without its last checkpoint")
        gone = [name for name in self.seen if not (self.folder / "checkpoints" / name).is_dir()]
        return problems + [f"{name} is gone" for name in gone]

    def has_last(self, number):
        """Whether the step that the run says it ended with is there."""
        done = [line for line in self.said[number - 1].splitlines() if line.startswith("done: ")]
        step = int(done[-1].split("last checkpoint of step ")[1].split()[0])
        return f"step-{step:08}" in self.seen


class TwoRuns(ProgramTest):
    def test_pairs(self):
        rng = random.Random(SEED)
        refused = 0
        for number in range(PAIRS):
            folder = Path(self.folder) / f"pair{number}"
            folder.mkdir()
            (folder / "t.txt").write_text("in the beginning was the word " * 600, encoding="utf-8")
            (folder / "run.yaml").write_text(
                f"model: {MODEL}\ndata: {{text: [t.txt], sequence_length: 32}}\n"
                "training: {steps: 12, global_batch_size: 4, micro_batch_size: 2}\n"
                "fsdp_config: {checkpoint_interval: 3}\ncheckpoint: {keep_last: 0}\n",
                encoding="utf-8")
            pair = Pair(folder, rng)
            problems = pair.run()
            self.assertEqual(problems, [], f"pair {number}:\n" + "\n----\n".join(pair.said))
            refused += any("is being written by" in text for text in pair.said)
            verified = subprocess.run([PROGRAM, "ckpt", "verify", "checkpoints"], cwd=folder,
                                      capture_output=True, text=True, check=False)
            if pair.seen:
                self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        print(f"{PAIRS} pairs, {refused} second writers refused")


if __name__ == "__main__":
    unittest.main()
