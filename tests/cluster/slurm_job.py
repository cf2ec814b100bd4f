"""A job submitted to the cluster of slurm_cluster.py: one of jobs/*.sbatch, as it ships."""
import json
import os
import re
import subprocess
from pathlib import Path

from slurm_cluster import CONF, STATE, output_of, wait_until

PROGRAM = os.environ["SHERD_PROGRAM"]
JOBS = Path(os.environ["SHERD_JOBS"])
REFERENCE = Path(os.environ["SHERD_TEST_DATA"]) / "reference/llama"
TIMES = ("step_seconds", "tokens_per_second", "checkpoint_stall_seconds", "checkpoint")

CONFIG = f"""config_version: 1
model: {{init_from: {REFERENCE}}}
data: {{tokens: [{REFERENCE}/tokens.bin], sequence_length: 24, order: shuffled}}
training: {{steps: 60, global_batch_size: 24, micro_batch_size: 6, seed: 3}}
optimizer: {{name: adamw, learning_rate: 1.0e-2, schedule: cosine, warmup_steps: 5}}
fsdp_config: {{sharding_strategy: FULL_SHARD, checkpoint_interval: 10, checkpoint_dir: ckpt}}
logging: {{directory: run, interval: 1}}
"""

# A small machine under a test: ranks are not bound, and wait for seconds only.
ENVIRONMENT = {"SHERD": PROGRAM, "SHERD_COMM_TIMEOUT": "30", "OMP_NUM_THREADS": "1", "KILL_AFTER": "10",
               "MPIRUN_OPTIONS": "--bind-to none", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_base_warn_component_unused": "0"}
SIZE = ["--nodes=2", "--mincpus=2", "--cpus-per-task=1", "--mem=100", "--oversubscribe"]
LAUNCHERS = ("srun", "mpirun")
# What ctest sets for ranks of one machine is not for these.
CLEAN_ENVIRONMENT = {name: value for name, value in os.environ.items()
                     if not name.startswith(("SLURM_", "OMPI_", "PMIX_"))}


class Job:
    def __init__(self, *script, options=(), env=None, folder):
        """Submits jobs/SCRIPT ARGUMENTS... in STATE/FOLDER, where a run.yaml is written if there is none."""
        self.folder = STATE / folder
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / "run.yaml").exists():
            (self.folder / "run.yaml").write_text(CONFIG)
        command = ["sbatch", "--parsable", "--output=log", *SIZE, *options]
        command += [str(JOBS / script[0]), *script[1:]] if script else []
        done = subprocess.run(
            command, cwd=self.folder, text=True, capture_output=True,
            env={**CLEAN_ENVIRONMENT, "SLURM_CONF": CONF, **ENVIRONMENT, **(env or {})})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        self.id = done.stdout.strip()

    def log(self):
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def starts(self):
        """The log's parts, one for each start of the job."""
        return re.split(r"(?m)^(?=sherd job: \d+, start )", self.log())[1:]

    def field(self, name):
        found = re.search(rf"\b{name}=(\S+)", output_of("scontrol", "--oneliner", "show", "job", self.id))
        return found.group(1) if found else ""

    def wait_for(self, condition, what, seconds=90):
        try:
            return wait_until(condition, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"job {self.id}, {self.field('JobState')}: {error}\n{self.log()}") from None

    def wait_for_text(self, pattern, start=0, seconds=90):
        """Once that start has printed a match of the pattern."""
        return self.wait_for(lambda: len(self.starts()) > start and re.search(pattern, self.starts()[start]),
                             f"/{pattern}/ in start {start}", seconds)

    def wait_for_end(self, seconds=90):
        """The job's state and exit code, such as COMPLETED 0."""
        over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
        self.wait_for(lambda: self.field("JobState") in over, "the job ended", seconds)
        return self.field("JobState"), int(self.field("ExitCode").split(":")[0])

    def ranks(self, *nodes):
        """Process numbers of the job's ranks on those nodes."""
        found = []
        for node in nodes:
            for pid in node.processes("sherd"):
                try:
                    environment = Path(f"/proc/{pid}/environ").read_bytes()
                except OSError:  # it has just ended
                    continue
                found += [pid] if f"SLURM_JOB_ID={self.id}\0".encode() in environment else []
        return found

    def cancel(self):
        subprocess.run(["scancel", self.id], check=False)

    def metrics(self):
        """The lines of metrics.jsonl without the times."""
        lines = (self.folder / "run/metrics.jsonl").read_text().splitlines()
        return [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in lines]


def difference(one, other):
    """What `sherd ckpt diff` says of the newest checkpoints of two jobs."""
    return output_of(PROGRAM, "ckpt", "diff", str(one.folder / "ckpt"), str(other.folder / "ckpt"))
