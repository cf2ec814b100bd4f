"""Differences between Kokkos versions are handled in include/sherd/kx and nowhere else."""

import re

import source_tree


def check(root):
    problems = []
    for path in source_tree.files(root, ("include", "src", "io", "examples", "bench")):
        if path.is_relative_to("include/sherd/kx"):
            continue
        code = source_tree.bare_code(source_tree.read(root, path))
        for number, line in enumerate(code.splitlines(), 1):
            if re.search(r"\bKOKKOS_VERSION", line):
                problems.append(f"{path}:{number}: compares Kokkos versions outside include/sherd/kx")
    return problems
