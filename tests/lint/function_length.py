"""Functions stay short: the ten longest are printed, one over the limit fails, and so does a long
file without a comment at its top that says why."""

import re

import source_tree

LIMIT = 80
FILE_LIMIT = 300
NOT_A_FUNCTION = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$")


def functions(code):
    """(name, first line, last line) of the function bodies in bare C++ code."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), code,
                  flags=re.M)
    found, inside, depth, begin, name, head_at = [], None, 0, 0, "", 0
    for at, char in enumerate(code):
        if char == "{":
            head = code[head_at:at]
            if inside is None and ")" in head and not NOT_A_FUNCTION.search(head):
                inside = depth
                name = (re.findall(r"([\w:~]+)\s*\(", head) or ["?"])[0]
                begin = code.count("\n", 0, head_at + len(head) - len(head.lstrip())) + 1
            depth += 1
            head_at = at + 1
        elif char == "}":
            depth -= 1
            if inside == depth:
                found.append((name, begin, code.count("\n", 0, at) + 1))
                inside = None
            head_at = at + 1
        elif char == ";" and inside is None:
            head_at = at + 1
    return found


def check(root):
    lengths, problems = [], []
    for path in source_tree.files(root, ("include", "src", "io", "tests", "examples", "bench")):
        text = source_tree.read(root, path)
        for name, first, last in functions(source_tree.bare_code(text)):
            lengths.append((last - first + 1, f"{path}:{first} {name}"))
        if text.count("\n") > FILE_LIMIT and not text.lstrip().startswith(("//", "/*")):
            problems.append(f"{path}: {text.count(chr(10))} lines (more than {FILE_LIMIT} need a reason "
                            "in a comment at the top). Try: split it")
    lengths.sort(reverse=True)
    for length, where in lengths[:10]:
        print(f"{length:5} lines  {where}")
    problems += [f"{where}: {length} lines (the limit is {LIMIT})"
                 for length, where in lengths if length > LIMIT]
    return problems
