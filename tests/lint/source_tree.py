"""The project's own text files, and C++ text without its comments and literals."""

import re
from pathlib import Path

FOLDERS = ("include", "src", "io", "tests", "examples", "bench", "cmake", "docs", "jobs", "spack")
CPP = (".hpp", ".cpp", ".cu")


def files(root, folders=FOLDERS, suffixes=CPP):
    """Every file with one of the suffixes below the folders, sorted; paths relative to root."""
    root = Path(root)
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            hidden = "__pycache__" in path.parts
            if path.is_file() and not hidden and (suffixes is None or path.suffix in suffixes):
                found.append(path.relative_to(root))
    return found


def read(root, path):
    return (Path(root) / path).read_text(encoding="utf-8", errors="replace")


_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)


def bare_code(text):
    """C++ text with comments and literals blanked, line breaks kept. #include lines stay whole."""

    def blank(match):
        piece = match.group(0)
        line_start = text.rfind("\n", 0, match.start()) + 1
        if text[line_start:match.start()].lstrip().startswith("#include"):
            return piece
        if match.start() > 0 and piece[0] == "'" and text[match.start() - 1].isalnum():
            return piece  # a digit separator
        return re.sub(r"[^\n]", " ", piece)

    return _LITERAL.sub(blank, text)


def table(root, heading):
    """The rows of the table below a heading of docs/architecture.md, as lists of cells."""
    section = read(root, "docs/architecture.md").split(f"\n## {heading}\n", 1)[1].split("\n## ")[0]
    rows = []
    for line in section.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip()[1:-1])
            rows.append([cell.strip().replace("\\|", "|") for cell in cells])
    return rows[2:]


def comma_list(cell):
    return [item.strip() for item in cell.split(",") if item.strip()]
