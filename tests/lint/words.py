"""No unfinished work, no switched-off test, no path of one machine."""

import re

import source_tree

FORBIDDEN = {
    r"\b(TODO|FIXME|XXX|HACK)\b": "unfinished work",
    r"\bGTEST_SKIP\b|\bDISABLED_\w": "a test that does not run",
    r"(?<![\w.$}/])/(work|home|root|mnt|scratch)/": "a path of one machine",
}
SUFFIXES = (".hpp", ".cpp", ".cu", ".in", ".txt", ".cmake", ".sh", ".sbatch", ".py", ".md", ".yaml",
            ".json")


def check(root):
    paths = [p for p in source_tree.files(root, suffixes=SUFFIXES) if p.parts[:2] != ("tests", "lint")]
    paths += [p.relative_to(root) for p in sorted(root.iterdir())
              if p.is_file() and p.suffix in SUFFIXES]
    problems = []
    for path in paths:
        for number, line in enumerate(source_tree.read(root, path).splitlines(), 1):
            for pattern, what in FORBIDDEN.items():
                if re.search(pattern, line):
                    problems.append(f"{path}:{number}: {what}: {line.strip()[:100]}")
    return problems
