"""include/sherd/sherd.hpp includes every public header but the kernels, sorted; no library file
includes it (the layering check sees to that)."""

import re

import source_tree

UMBRELLA = "include/sherd/sherd.hpp"
LEFT_OUT = ("include/sherd/tensor/kernel", "include/sherd/kx")


def check(root):
    wanted = sorted(path.relative_to("include").as_posix()
                    for path in source_tree.files(root, ("include",))
                    if path.as_posix() != UMBRELLA
                    and not any(path.is_relative_to(folder) for folder in LEFT_OUT)
                    and not path.name.endswith("_interop.hpp"))
    text = source_tree.read(root, UMBRELLA)
    found = [name for name in re.findall(r'#include "([^"]+)"', text)
             if name != "sherd/base/config.hpp"]
    problems = [f"{UMBRELLA}: {name} is missing" for name in wanted if name not in found]
    problems += [f"{UMBRELLA}: {name} does not belong here" for name in found if name not in wanted]
    return problems or ([f"{UMBRELLA}: not sorted"] if found != sorted(found) else [])


if __name__ == "__main__":
    import sys
    from pathlib import Path
    for line in check(Path(sys.argv[1])):
        print(line)
