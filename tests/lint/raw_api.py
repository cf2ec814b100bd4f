"""C libraries are included and called only in the folders docs/architecture.md names."""

import re

import source_tree


def check(root):
    problems = []
    rows = source_tree.table(root, "C libraries")
    for path in source_tree.files(root, ("include", "src", "io", "examples")):
        code = source_tree.bare_code(source_tree.read(root, path))
        for library, header, calls, folders in rows:
            if any(path.is_relative_to(folder) for folder in source_tree.comma_list(folders)):
                continue
            include = re.compile(rf'^\s*#\s*include\s*[<"](?:\w+/)*{header.strip("`")}[>"]')
            call = re.compile(rf'(?<![\w:]){calls.strip("`")}\s*[(<{{]')
            for number, line in enumerate(code.splitlines(), 1):
                if include.search(line) or call.search(line):
                    problems.append(f"{path}:{number}: {library} may not be used here: {line.strip()}")
    return problems
