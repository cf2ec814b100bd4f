"""lint.py ROOT CHECK: runs one check over the source tree; prints what is wrong, exit code 1 if anything."""

import importlib
import sys
from pathlib import Path


def main():
    root, name = Path(sys.argv[1]).resolve(), sys.argv[2]
    problems = importlib.import_module(name).check(root)
    for problem in problems:
        print(problem)
    print(f"{name}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
