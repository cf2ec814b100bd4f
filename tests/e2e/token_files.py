"""Token files as other programs write them: read as they are, or refused with what to do."""

import gzip
import json
import random
import struct
import unittest

import numpy

from program import ProgramTest

MODEL = ("{vocab_size: %d, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 1, "
         "num_attention_heads: 4, num_key_value_heads: 2}")


class TokenFiles(ProgramTest):
    def setUp(self):
        super().setUp()
        source = random.Random(1)
        self.ids = [source.randrange(1000) for _ in range(2000)]

    def ids_as(self, name, code):
        (self.folder / name).write_bytes(struct.pack(code[0] + str(len(self.ids)) + code[1], *self.ids))

    def train(self, file, *arguments, vocabulary=1000):
        config = self.config(model=MODEL % vocabulary, data=f"{{tokens: {file}, sequence_length: 24}}")
        return self.sherd("train", config, "checkpoint.resume=never",
                          f"fsdp_config.checkpoint_dir=checkpoints-{len(list(self.folder.iterdir()))}",
                          *arguments, env={"OMPI_MCA_odls_base_sigkill_timeout": "0"})

    def refused(self, file, *arguments, says, **options):
        done = self.train(file, *arguments, **options)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 2, output)
        for text in says:
            self.assertEqual(output.count(text), 1, f"{text!r} in:\n{output}")

    def loss(self, *arguments):
        done = self.train(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = (self.folder / "run" / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines if "loss" in json.loads(line)]

    def test_widths_and_byte_orders(self):
        self.ids_as("u16.bin", "<H")
        self.ids_as("i64.bin", ">q")
        expected = self.loss("u16.bin")
        self.assertEqual(self.loss("i64.bin", "data.token_bytes=8", "data.token_byte_order=big"), expected)
        self.refused("i64.bin", says=["i64.bin: looks like 64-bit big-endian ids",
                                      "Try: data.token_bytes=8 data.token_byte_order=big"])

    def test_width_of_a_large_vocabulary(self):
        self.ids_as("u32.bin", "<I")
        self.refused("u32.bin", vocabulary=128256,
                     says=["u32.bin: no header and no data.token_bytes", "Try: data.token_bytes=4"])

    def test_numpy(self):
        numpy.save(self.folder / "ids.npy", numpy.array(self.ids, dtype=numpy.uint16))
        self.refused("ids.npy", says=["ids.npy: numpy's file of an array (.npy, <u2)",
                                      "Try: numpy.load('ids.npy')"])

    def test_megatron(self):
        self.ids_as("meg.bin", "<i")
        (self.folder / "meg.idx").write_bytes(b"MMIDIDX\0\0" + bytes(200))
        self.refused("meg.bin", says=["meg.bin: meg.idx beside it is Megatron's index"])

    def test_gzip(self):
        self.ids_as("u16.bin", "<H")
        (self.folder / "ids.gz").write_bytes(gzip.compress((self.folder / "u16.bin").read_bytes()))
        self.refused("ids.gz", says=["ids.gz: compressed by gzip"])

    def test_text(self):
        (self.folder / "t.txt").write_text("In the beginning God created the heaven and the earth.\n")
        self.refused("t.txt", says=["t.txt: text, not a stream of token ids"])


if __name__ == "__main__":
    unittest.main()
