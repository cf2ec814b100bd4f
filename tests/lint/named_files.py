"""Files that pages name in backquotes are there: in docs/extending.md, and in the walks of docs/architecture.md."""

import re

import source_tree

PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:hpp|cpp|py|txt|md|cmake))`")
WALKS = {"A step": ("include/sherd", "src"), "A save": ("io",)}


def exists(root, name, folders):
    return any((root / folder / name).is_file() for folder in folders)


def check_text(root, page, text, folders):
    return [f"{page}: there is no file {name}" for name in PATH.findall(text)
            if "/" in name and not exists(root, name, folders)]


def check(root):
    problems = check_text(root, "docs/extending.md", source_tree.read(root, "docs/extending.md"), ("",))
    page = source_tree.read(root, "docs/architecture.md")
    for heading, folders in WALKS.items():
        _, found, section = page.partition(f"\n## {heading}\n")
        if not found:
            problems.append(f"docs/architecture.md: there is no section {heading}")
        problems += check_text(root, f"docs/architecture.md, {heading}", section.split("\n## ")[0], folders)
    return problems
