"""Includes run downwards only, as the table in docs/architecture.md says."""

import re

import source_tree

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def module_of(path, modules):
    """The module a file of the library belongs to; None for tests, examples, benchmarks."""
    parts = path.parts
    if parts[0] == "io":
        return "io"
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "sherd") and len(parts) > 3:
        return parts[2]
    return None


def target_of(include, path, root, modules):
    """(module, is_public) of what an include names; a sibling file belongs to the includer's module."""
    parts = include.split("/")
    if parts[0] == "sherd":
        return (parts[1] if len(parts) > 2 else "sherd.hpp"), True
    if (root / path.parent / include).exists():
        return module_of(path.parent / include, modules), False
    return parts[0], False


def check(root):
    allowed = {row[1]: source_tree.comma_list(row[2]) for row in source_tree.table(root, "Layers")}
    layer = {row[1]: int(row[0]) for row in source_tree.table(root, "Layers")}
    problems = []
    for module, others in allowed.items():
        problems += [f"docs/architecture.md: {module} may not include {o} of its own layer or above"
                     for o in others if layer[o] >= layer[module]]
    for path in source_tree.files(root, ("include", "src", "io")):
        module = module_of(path, allowed)
        if module is None:
            continue
        if module not in allowed:
            problems.append(f"{path}: module {module} is not in the table")
            continue
        for include in INCLUDE.findall(source_tree.read(root, path)):
            target, is_public = target_of(include, path, root, allowed)
            if target != module and target not in allowed[module]:
                problems.append(f'{path}: {module} may not include "{include}" of {target}')
            elif target != module and not is_public:
                problems.append(f'{path}: "{include}" is private to {target}')
    return problems
