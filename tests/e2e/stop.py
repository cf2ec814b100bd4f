"""A signal ends a run after the step it is in, with a checkpoint that the next run goes on from."""

import json
import os
import signal
import subprocess
import unittest

from program import HANG_SECONDS, MPIEXEC, PROGRAM, ProgramTest

STOPPED_EARLY = 85


class Stop(ProgramTest):
    def start(self, launcher, *arguments):
        return subprocess.Popen([*launcher, PROGRAM, "train", self.config(), *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                cwd=self.folder, env=dict(os.environ))

    def stop_after_a_few_steps(self, launcher, number, folder):
        """Sends the signal once three steps are printed; returns exit code and output."""
        process = self.start(launcher, "training.steps=5000", folder)
        self.addCleanup(process.kill)
        steps, output = 0, ""
        for line in process.stdout:
            output += line
            steps += line.startswith("step ")
            if steps == 3:
                process.send_signal(number)
                break
        output += process.communicate(timeout=HANG_SECONDS)[0]
        return process.returncode, output

    def steps(self):
        text = (self.folder / "run" / "metrics.jsonl").read_text(encoding="utf-8")
        return [json.loads(line)["step"] for line in text.splitlines()]

    def check(self, launcher, number):
        name = f"checkpoints-{number}"
        folder = f"fsdp_config.checkpoint_dir={name}"
        code, output = self.stop_after_a_few_steps(launcher, number, folder)
        self.assertEqual(code, STOPPED_EARLY, output)
        reached = self.steps()[-1]
        self.assertGreaterEqual(reached, 3)
        listed = self.sherd("ckpt", "ls", name, np=0).stdout
        self.assertRegex(listed, rf"(?m)^ +{reached}  committed")
        done = self.sherd("train", "run.yaml", folder, f"training.steps={reached + 2}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.steps(), list(range(1, reached + 3)))

    def test_sigterm_and_sigint_on_one_process(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.check([], number)

    def test_sigusr1_through_the_launcher(self):
        self.check([MPIEXEC, "-n", "2"], signal.SIGUSR1)

    def test_a_signal_before_main_is_heard(self):
        done = self.sherd("train", self.config(), "training.steps=50", np=0,
                          env={"LD_PRELOAD": os.environ["SHERD_RAISE_AT_START"]})
        self.assertEqual(done.returncode, STOPPED_EARLY, done.stdout + done.stderr)
        self.assertIn("stopped by signal after step 1, saved", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
