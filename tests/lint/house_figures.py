"""house_figures.py ROOT: a Markdown table of how the sources lie: per module, and per room inside it, files, lines,
median and longest file, private headers with one includer, depth of the includes inside, comment lines."""

import re
import statistics
import sys
from pathlib import Path

import layers
import source_tree


def folder_of(path):
    """"fsdp", "io", "io/save", "comm/mpi": the module, and the room where there is one."""
    parts = list(path.parts)
    if parts[:2] == ["include", "sherd"]:
        return parts[2] if len(parts) > 3 else None
    inner = parts if parts[0] == "io" else parts[1:]
    return "/".join(inner[:2] if len(inner) > 2 else inner[:1])


def includes(root, files):
    """{file: included files}, among `files`; by the names that include lines use."""
    by_name = {}
    for path in files:
        by_name[path.as_posix()] = path
        by_name[re.sub(r"^(include|src)/", "", path.as_posix())] = path
    return {path: {by_name[name] for name in layers.INCLUDE.findall(source_tree.read(root, path)) if name in by_name}
            for path in files}


def depth(graph, path, seen):
    """Files on the longest chain of includes from `path` on."""
    if path not in seen:
        seen[path] = 1  # where includes run in a circle, the chain ends
        seen[path] = 1 + max((depth(graph, other, seen) for other in graph[path]), default=0)
    return seen[path]


def comment_share(root, paths):
    lines = [line.strip() for path in paths for line in source_tree.read(root, path).splitlines()]
    lines = [line for line in lines if line]
    return 100 * sum(line.startswith("//") for line in lines) / len(lines) if lines else 0


def row(root, name, mine, graph):
    lengths = [len(source_tree.read(root, path).splitlines()) for path in mine]
    headers = [path for path in mine if path.suffix == ".hpp" and path.parts[0] != "include"]
    alone = sum(sum(header in graph[path] for path in graph if path.stem != header.stem) == 1 for header in headers)
    inside = {path: graph[path] & set(mine) for path in mine}
    deepest = max(depth(inside, path, {}) for path in mine)
    shares = [comment_share(root, [path for path in mine if path.suffix == suffix]) for suffix in (".hpp", ".cpp")]
    return (f"| {name} | {len(mine)} | {sum(lengths)} | {statistics.median(lengths):.0f} | {max(lengths)} | {alone} "
            f"| {deepest} | {shares[0]:.0f} % | {shares[1]:.1f} % |")


def table(root):
    files = source_tree.files(root, ("include", "src", "io"))
    graph = includes(root, files)
    folders = {path: folder_of(path) for path in files}
    names = sorted({name for name in folders.values() if name} | {n.split("/")[0] for n in folders.values() if n})
    rows = ["| folder | files | lines | median | longest | headers with one includer | depth | comments .hpp | .cpp |",
            "|---|---|---|---|---|---|---|---|---|"]
    for name in names:
        mine = [path for path, folder in folders.items()
                if folder and (folder == name or folder.startswith(name + "/"))]
        rows.append(row(root, name, mine, graph))
    rows.append(row(root, "all", files, graph))
    return rows


if __name__ == "__main__":
    print("\n".join(table(Path(sys.argv[1]).resolve())))
