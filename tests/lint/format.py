"""Every C++ file is as clang-format 14 leaves it. Without that program the test is skipped, and
fails where SHERD_LINT_STRICT is set (jobs/test.sh sets it)."""

import os
import shutil
import subprocess
import sys

import source_tree

SKIPPED = 77


def clang_format():
    for name in ("clang-format-14", "clang-format"):
        program = shutil.which(name)
        if program and " 14." in subprocess.run([program, "--version"], capture_output=True,
                                                text=True).stdout:
            return program
    return None


def check(root):
    program = clang_format()
    if program is None:
        missing = "clang-format 14 is not installed. Try: apt-get install clang-format-14"
        if os.environ.get("SHERD_LINT_STRICT"):
            return [missing]
        print(missing)
        sys.exit(SKIPPED)
    paths = source_tree.files(root, ("include", "src", "io", "tests", "examples", "bench"))
    result = subprocess.run([program, "--dry-run", "--Werror", "--ferror-limit=1", *map(str, paths)],
                            cwd=root, capture_output=True, text=True)
    lines = [line for line in result.stderr.splitlines() if "error:" in line]
    return lines if result.returncode else []
