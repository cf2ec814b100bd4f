"""include/sherd/sherd.hpp includes every public header but the kernels; no library file includes it
(the layering check sees to that). Run as a program it writes the file: umbrella.py ROOT."""

import sys
from pathlib import Path

import source_tree

UMBRELLA = "include/sherd/sherd.hpp"
LEFT_OUT = ("include/sherd/tensor/kernel", "include/sherd/kx")


def expected(root):
    headers = {path.relative_to("include").as_posix()
               for path in source_tree.files(root, ("include",))
               if path.as_posix() != UMBRELLA and not path.name.endswith("_interop.hpp")
               and not any(path.is_relative_to(folder) for folder in LEFT_OUT)}
    headers.add("sherd/base/config.hpp")  # generated
    lines = "".join(f'#include "{header}"\n' for header in sorted(headers))
    return f"#pragma once\n\n/// All of sherd, for programs. The library itself includes single headers.\n\n{lines}"


def check(root):
    if source_tree.read(root, UMBRELLA) == expected(root):
        return []
    return [f"{UMBRELLA} is not the list of public headers. Try: python3 tests/lint/umbrella.py ."]


if __name__ == "__main__":
    (Path(sys.argv[1]) / UMBRELLA).write_text(expected(Path(sys.argv[1])), encoding="utf-8")
