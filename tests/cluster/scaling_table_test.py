"""jobs/scaling_table.py on metrics whose answer is known."""
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.environ["SHERD_JOBS"])
import scaling_table  # noqa: E402  (jobs/ is no package)


class ScalingTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, seconds, tokens):
        (self.folder / name).mkdir()
        (self.folder / name / "metrics.jsonl").write_text("".join(
            json.dumps({"step_seconds": s, "tokens_per_second": tokens / s}) + "\n" for s in seconds))

    def test_efficiency_is_per_node_against_the_fewest(self):
        self.write("strong-1", [9.0] * 5 + [1.0] * 5, 1000)  # slow first steps do not count
        self.write("strong-4", [9.0] * 5 + [0.5] * 5, 1000)
        self.write("weak-2", [1.0] * 10, 2000)
        self.write("weak-3", [1.25] * 10, 3000)
        lines = scaling_table.table(scaling_table.read_runs(self.folder)).splitlines()
        self.assertEqual([line.split() for line in lines[1:]],
                         [["strong", "1", "1000.0", "1,000", "1,000", "100%"],
                          ["strong", "4", "500.0", "2,000", "500", "50%"],
                          ["weak", "2", "1000.0", "2,000", "1,000", "100%"],
                          ["weak", "3", "1250.0", "2,400", "800", "80%"]])

    def test_a_run_that_failed_is_left_out(self):
        self.write("strong-1", [1.0] * 2, 100)
        (self.folder / "strong-2").mkdir()
        self.assertEqual(list(scaling_table.read_runs(self.folder)["strong"]), [1])


if __name__ == "__main__":
    unittest.main()
