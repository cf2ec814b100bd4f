"""What bench/gpu_check.sh runs, and its table."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(sys.argv[1])
EMULATED = bool(os.environ.get("GPU_CHECK_EMULATED"))
ENVIRONMENT = os.environ | ({"SHERD_TEST_DEVICE": "emulated"} if EMULATED else {})
SECONDS = 540  # for all of it
START = time.monotonic()
ROWS = []

CONFIG = """config_version: 1
model: {{{model}}}
data: {{text: ["{text}"], sequence_length: {sequence}, order: sequential}}
training: {{steps: {steps}, global_batch_size: {batch}, micro_batch_size: {batch}, max_grad_norm: 1.0, seed: 1}}
optimizer: {{name: adamw, learning_rate: 1.0e-3}}
fsdp_config: {{mixed_precision: {mixed}, device: {device}, checkpoint_interval: {interval}, checkpoint_dir: ckpt}}
logging: {{directory: run, interval: 1000}}
"""
TINY = "preset: tiny"
LARGE = TINY if EMULATED else "preset: 125m, vocab_size: 256"


def row(check, result, holds=None):
    ROWS.append((check, result, {True: "yes", False: "NO", None: "-"}[holds], holds))
    print(f"gpu_check: {check}: {result}", file=sys.stderr)


def run(command, folder=None):
    left = max(SECONDS - (time.monotonic() - START), 1)
    try:
        return subprocess.run([str(part) for part in command], cwd=folder, env=ENVIRONMENT, text=True, timeout=left,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "no time left")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def query(what):
    done = subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits", "-i", "0"],
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


class MemoryWatch:
    """The most memory in use on the first GPU while the block runs, beyond what was in use before."""

    def __enter__(self):
        self.most = 0
        self.running = not EMULATED
        self.before = int(query("memory.used")) if self.running else 0
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while self.running:
            self.most = max(self.most, int(query("memory.used")) - self.before)
            time.sleep(0.2)

    def __exit__(self, *_):
        self.running = False
        self.thread.join()

    def bytes(self):
        return self.most << 20


def tests():
    wanted = "*emulated*" if EMULATED else "*cuda*:*Cuda*:*OnGpu*:*nccl*:*Nccl*"
    for program in sorted(BUILD.glob("tests/unit/*/test_*")):
        if program.name not in ("test_runtime_device", "test_tensor_device") and "comm" not in program.name:
            continue
        done = run([program, f"--gtest_filter={wanted}"])
        ran = re.search(r"\[==========\] (\d+) tests? from .* ran", done.stdout)
        count = int(ran.group(1)) if ran else 0
        if count > 0 or done.returncode not in (0, 1):
            row(f"tests: {program.name[5:]}", f"{count} on the device", done.returncode == 0)


def train(folder, device, model, **sizes):
    folder.mkdir()
    text = folder / "text.txt"
    source = pathlib.Path(__file__).resolve().parents[2] / "docs"
    text.write_text("".join(page.read_text() for page in sorted(source.rglob("*.md"))))
    defaults = {"sequence": 128, "steps": 10, "batch": 4, "mixed": "false", "interval": 0}
    (folder / "run.yaml").write_text(
        CONFIG.format(text=text, device=device, model=model, **(defaults | sizes)))
    done = run([BUILD / "bin" / "sherd", "train", "run.yaml"], folder)
    metrics = folder / "run" / "metrics.jsonl"
    lines = [json.loads(line) for line in metrics.read_text().splitlines()] if metrics.exists() else []
    return done, lines


def parity(folder):
    outcomes = [train(folder / device, device, TINY) for device in ("cpu", "cuda")]
    for done, _ in outcomes:
        if done.returncode != 0:
            row("parity with the CPU", last_line(done.stdout), False)
            return
    pairs = list(zip(*(lines for _, lines in outcomes)))
    worst = max(abs(a[key] / b[key] - 1) for a, b in pairs for key in ("loss", "grad_norm"))
    row("parity with the CPU", f"{len(pairs)} steps of f32, loss and gradient norm within {worst:.1e}",
        len(pairs) == 10 and worst < 1e-3)


def step_memory_checkpoint(folder):
    steps = 6 if EMULATED else 40
    sizes = {"sequence": 128 if EMULATED else 1024, "batch": 2 if EMULATED else 16, "mixed": "true",
             "steps": steps, "interval": steps // 2}
    with MemoryWatch() as watch:
        done, lines = train(folder / "large", "cuda", LARGE, **sizes)
    if done.returncode != 0 or not lines:
        row("training, bf16", last_line(done.stdout), False)
        return
    quiet = sorted(line["step_seconds"] for line in lines[2:steps // 2])
    row("step", f"{quiet[len(quiet) // 2] * 1e3:.1f} ms, "
                f"{sizes['batch'] * sizes['sequence'] / quiet[len(quiet) // 2]:.0f} tokens/s")
    checkpoint(folder / "large", lines)
    memory(folder / "large", watch)


def checkpoint(folder, lines):
    saves = sorted((folder / "ckpt").glob("step-*"))
    size = sum(file.stat().st_size for file in saves[0].rglob("*") if file.is_file()) if saves else 0
    stall = max(line["checkpoint_stall_seconds"] for line in lines)
    row("checkpoint", f"{size / 1e6:.0f} MB, training stands still {stall * 1e3:.1f} ms", size > 0)
    if saves:
        verify = run([BUILD / "bin" / "sherd", "ckpt", "verify", saves[-1]])
        row("checkpoint verified", last_line(verify.stdout), verify.returncode == 0)


def memory(folder, watch):
    planned = run([BUILD / "bin" / "sherd", "plan", "run.yaml", "--json"], folder)
    try:
        plan = json.loads(planned.stdout)["bytes_per_rank"]["total"]
    except (ValueError, KeyError, TypeError):
        row("memory against plan", "the plan has no total: " + last_line(planned.stdout), False)
        return
    if EMULATED:
        row("memory against plan", f"planned {plan / 1e9:.2f} GB")
        return
    # CUDA's context, NCCL and the pools' rounding are not in the plan.
    row("memory against plan", f"planned {plan / 1e9:.2f} GB, measured {watch.bytes() / 1e9:.2f} GB",
        watch.bytes() < 1.25 * plan + 2e9)


def device_bench():
    program = BUILD / "bench" / "device" / "bench_device"
    if not program.exists():
        row("figures of the device", "not built. Try: -DSHERD_BUILD_BENCH=ON")
        return
    done = run([program, *(["--emulated", "--scale", "0.001"] if EMULATED else [])])
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            figure = json.loads(line)
            row(figure["what"], f"{figure['value']} {figure['unit']}")
    if done.returncode != 0:
        row("figures of the device", last_line(done.stdout), False)


def main():
    row("device", "emulated" if EMULATED else query("name,driver_version,memory.total"))
    with tempfile.TemporaryDirectory() as folder:
        tests()
        parity(pathlib.Path(folder))
        step_memory_checkpoint(pathlib.Path(folder))
    device_bench()
    row("time", f"{time.monotonic() - START:.0f} s")
    width = max(len(check) for check, *_ in ROWS)
    print(f"| {'check':{width}} | holds | result |\n|{'-' * (width + 2)}|-------|--------|")
    for check, result, holds, _ in ROWS:
        print(f"| {check:{width}} | {holds:5} | {result} |")
    return 1 if any(holds is False for *_, holds in ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
