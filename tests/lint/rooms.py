"""Inside a module, rooms (folders) include only as its table "Inside MODULE" in docs/architecture.md says."""

import re

import layers
import source_tree

HEADING = re.compile(r"^## Inside (\w+)$", re.M)


def folder_of(root, module):
    return module if (root / module).is_dir() else f"src/{module}"


def room_of(path):
    """The room of a file, given relative to its module's folder; "top" for those beside the rooms."""
    return path.split("/")[0] if "/" in path else "top"


def check_module(root, module):
    rows = source_tree.table(root, f"Inside {module}")
    allowed = {row[0]: source_tree.comma_list(row[1]) for row in rows}
    order = [row[0] for row in rows]
    folder = folder_of(root, module)
    problems = [f"docs/architecture.md: room {room} of {module} may not include {other}, which is below it "
                "in the table" for room, others in allowed.items() for other in others
                if other not in order or order.index(other) >= order.index(room)]
    for path in source_tree.files(root, (folder,)):
        room = room_of(path.relative_to(folder).as_posix())
        if room not in allowed:
            problems.append(f"{path}: room {room} is not in the table \"Inside {module}\"")
            continue
        for include in layers.INCLUDE.findall(source_tree.read(root, path)):
            if not include.startswith(module + "/"):
                continue
            other = room_of(include[len(module) + 1:])
            if other != room and other not in allowed[room]:
                problems.append(f'{path}: room {room} may not include "{include}"')
    return problems


def check(root):
    modules = HEADING.findall(source_tree.read(root, "docs/architecture.md"))
    return [problem for module in modules for problem in check_module(root, module)]
