"""The commands beside training: help, version, info, plan, ckpt, export, generate."""

import json
import unittest

from program import REFERENCE, ProgramTest, read_safetensors


class CommandLine(ProgramTest):
    def good(self, *arguments, **options):
        done = self.sherd(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_help_and_version_need_no_launcher(self):
        text = self.good("--help", np=0)
        for command in ("train", "info", "generate", "ckpt"):
            self.assertIn(command, text)
            self.assertIn("--help", self.good(command, "--help", np=0))
        self.assertRegex(self.good("--version", np=0), r"^sherd \d+\.\d+\.\d+\n$")

    def test_wrong_command_lines_end_with_2(self):
        for np in (0, 2):
            for arguments in (["trian"], ["train"], ["train", "a.yaml", "--fast"], []):
                done = self.sherd(*arguments, np=np)
                self.assertEqual(done.returncode, 2, f"{arguments}: {done.stdout}{done.stderr}")

    def test_info(self):
        text = self.good("info", np=2)
        for library in ("sherd", "HDF5", "Kokkos", "oneDNN", "hwloc"):
            self.assertRegex(text, rf"(?m)^  {library} +[1-9]*\d\.\d+\.\d+$")
        for backend in ("self", "inproc", "shm", "mpi", "nccl", "cpu", "cuda"):
            self.assertRegex(text, rf"(?m)^  {backend} +(yes|no {{3}}\S)")
        self.assertEqual(text.count("nodes x local ranks = 1 x 2, 2 ranks in all"), 1)

    def test_dry_run_prints_the_plan_and_makes_nothing(self):
        config = self.config()
        self.assertTrue(self.good("train", config, "--dry-run", np=2).strip())
        self.assertEqual([path.name for path in self.folder.iterdir()], ["run.yaml"])

    def test_train_look_export_generate(self):
        config = self.config(model=f"{{init_from: {REFERENCE}/llama}}")
        printed = self.good("train", config, "fsdp_config.checkpoint_interval=1", np=2)
        self.assertIn("step 1/2 | loss 5.6809", printed)
        self.assertNotIn("\r", printed)  # no live line where nobody watches
        lines = (self.folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual([json.loads(line)["step"] for line in lines], [1, 2])
        resolved = (self.folder / "run" / "config.yaml").read_text(encoding="utf-8")
        self.assertRegex(resolved, r"steps: 2 +# run.yaml:3\n")
        self.assertRegex(resolved, r"checkpoint_interval: 1 +# command line\n")

        self.assertIn("committed", self.good("ckpt", "ls", "checkpoints", np=0))
        shown = self.good("ckpt", "show", "checkpoints", np=0)
        self.assertRegex(shown, r"step 2, written by 2 ranks")
        self.assertRegex(shown, r"model\.layers\.0\.mlp\.up_proj\.weight +f32 +\[88, 32\]")
        self.assertIn("good", self.good("ckpt", "verify", "checkpoints", np=0))

        self.export_and_read_back()
        self.export_everything()
        self.generate_twice()

    def export_and_read_back(self):
        self.good("ckpt", "export", "checkpoints", "--safetensors", "hf", np=0)
        self.good("ckpt", "export", "checkpoints", "--safetensors", "parts", "--dtype", "bf16",
                  "--file-gigabytes", "2e-5", np=0)
        tensors = read_safetensors(self.folder / "hf" / "model.safetensors")
        original = read_safetensors(REFERENCE / "llama" / "model.safetensors")
        self.assertEqual({name: t[:2] for name, t in tensors.items()},
                         {name: t[:2] for name, t in original.items()})
        self.assertNotEqual(tensors["lm_head.weight"][2], original["lm_head.weight"][2])
        index = json.loads((self.folder / "parts" / "model.safetensors.index.json")
                           .read_text(encoding="utf-8"))
        parts = {name: t for file in set(index["weight_map"].values())
                 for name, t in read_safetensors(self.folder / "parts" / file).items()}
        self.assertEqual(set(parts), set(tensors))
        self.assertGreater(len(set(index["weight_map"].values())), 1)
        self.assertEqual({t[0] for t in parts.values()}, {"BF16"})
        for folder in ("hf", "parts"):  # what was written can be trained on
            self.good("train", self.config(model=f"{{init_from: {folder}}}"), "--dry-run", np=1)

    def export_everything(self):
        said = json.loads(self.good("ckpt", "export", "checkpoints", "--safetensors", "everything",
                                    "--dtype", "f16", "--all", "--json", np=0))
        self.assertEqual(said["step"], 2)
        weights = read_safetensors(self.folder / "everything" / "model.safetensors")
        self.assertEqual({t[0] for t in weights.values()}, {"F16"})
        config = json.loads((self.folder / "everything" / "config.json").read_text("utf-8"))
        self.assertEqual(config["torch_dtype"], "float16")
        state = read_safetensors(self.folder / "everything" / "state" / "state.safetensors")
        moments = state["optimizer.lm_head.weight.exp_avg"]
        self.assertEqual(moments[:2], ["F32", weights["lm_head.weight"][1]])
        self.assertFalse([name for name in state if name.startswith("model.")])

    def generate_twice(self):
        arguments = ["generate", "checkpoints", "--prompt", "ab", "--max-tokens", "8", "--seed"]
        first = self.sherd(*arguments, "3", np=0)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertTrue(first.stdout.startswith("ab"))
        self.assertEqual(first.stdout, self.sherd(*arguments, "3", np=0).stdout)

    def test_generate_refuses_a_model_of_other_tokens(self):
        self.good("train", self.config(), "model.vocab_size=300", np=1)
        done = self.sherd("generate", "checkpoints", "--prompt", "a", np=0)
        self.assertEqual(done.returncode, 2)
        self.assertIn("token files with a vocabulary of 300", done.stderr)

    def test_train_on_text_and_generate(self):
        self.write("book.txt", "In the beginning was the word. " * 200)
        config = self.config(data="{text: book.txt, sequence_length: 32}")
        self.good("train", config, "training.steps=30", "logging.interval=10")
        metrics = [json.loads(line) for line in
                   (self.folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertLess(metrics[-1]["loss"], 0.6 * metrics[0]["loss"])
        done = self.sherd("generate", "checkpoints", "--prompt", "In the", "--temperature", "0",
                          "--max-tokens", "5", np=0)
        self.assertEqual(len(done.stdout), len("In the") + 5 + 1, done.stderr)

    def test_a_flipped_bit_is_found(self):
        self.good("train", self.config(), np=1)
        self.good("ckpt", "export", "checkpoints", "--safetensors", "hf", np=0)
        weights = read_safetensors(self.folder / "hf" / "model.safetensors")["lm_head.weight"][2]
        shard = self.folder / "checkpoints" / "step-00000002" / "shards" / "node-00000.h5"
        content = bytearray(shard.read_bytes())
        content[content.index(weights[:256]) + 99] ^= 4
        shard.write_bytes(content)
        done = self.sherd("ckpt", "verify", "checkpoints/step-00000002", np=0)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("DAMAGED", done.stdout)
        self.assertIn("node-00000.h5", done.stdout)



if __name__ == "__main__":
    unittest.main()
