"""The README's C++ program is examples/00_twelve_lines.cpp, letter for letter, and its links lead
somewhere."""

import re

import source_tree

EXAMPLE = "examples/00_twelve_lines.cpp"


def check(root):
    text = source_tree.read(root, "README.md")
    blocks = re.findall(r"^```cpp\n(.*?)^```", text, re.M | re.S)
    problems = []
    if [block.strip() for block in blocks] != [source_tree.read(root, EXAMPLE).strip()]:
        problems.append(f"README.md: its one C++ block must be {EXAMPLE}")
    pages = ["README.md"] + [str(path) for path in source_tree.files(root, ("docs", "jobs"), (".md",))]
    for page in pages:
        folder = (root / page).parent
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", source_tree.read(root, page)):
            if not (folder / link).exists():
                problems.append(f"{page}: {link} does not exist")
    return problems
