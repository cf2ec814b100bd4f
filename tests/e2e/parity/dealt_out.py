"""Ranks that the launcher deals out to the nodes in turn are renumbered: the same bits as side by side."""

import shutil
import unittest

from reference_run import STRATEGIES, ReferenceTest


class DealtOut(ReferenceTest):
    def outcome(self, nodes, *overrides):
        """Trains from nothing on four ranks; what it said, metrics without times, and the shard files."""
        for folder in ("run", "ckpt"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        output = self.train(*overrides, np=4, env={"SHERD_TEST_NODES": nodes})
        return output, self.metrics(keep=None), self.shards()

    def shards(self):
        folder = self.folder / "ckpt" / "step-00000010" / "shards"
        return {shard.name: shard.read_bytes() for shard in sorted(folder.iterdir())}

    def test_same_bits(self):
        self.reference_config()
        for strategy in STRATEGIES:
            with self.subTest(strategy=strategy):
                chosen = f"fsdp_config.sharding_strategy={strategy}"
                said, *side_by_side = self.outcome("2", chosen)
                self.assertNotIn("here they are ranks", said)
                said, *dealt_out = self.outcome("2:cyclic", chosen)
                self.assertIn("ranks 0,2 on ", said)
                self.assertIn("here they are ranks 0-1", said)
                self.assertEqual(side_by_side[0], dealt_out[0])
                self.assertTrue(side_by_side[1] == dealt_out[1], "shard files differ")

    def test_one_resumes_the_other(self):
        self.reference_config()
        straight = self.outcome("2")[1:]
        shutil.rmtree(self.folder / "run")
        shutil.rmtree(self.folder / "ckpt" / "step-00000010")
        self.train(np=4, env={"SHERD_TEST_NODES": "2:cyclic"})
        self.assertEqual(straight[0][5:], self.metrics(keep=None))
        self.assertTrue(straight[1] == self.shards(), "shard files differ")


if __name__ == "__main__":
    unittest.main()
