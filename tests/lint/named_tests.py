"""Tests that docs/sharding-cases.md names exist: a renamed test must be renamed there too."""

import re

PAGE = "docs/sharding-cases.md"


def check(root):
    text = (root / PAGE).read_text(encoding="utf-8")
    cpp = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests").rglob("*.cpp")))
    python = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests").rglob("*.py")))
    cases = set(re.findall(r"\b([A-Z]\w+)\.([A-Z]\w+)\b", text))
    problems = [f"{PAGE} names {suite}.{case}, which is no test" for suite, case in sorted(cases)
                if not re.search(rf"TEST(_[FP])?\(\s*{suite},\s*{case}\)", cpp)]
    problems += [f"{PAGE} names {name}, which is no test"
                 for name in sorted(set(re.findall(r"\btest_\w+", text)))
                 if not re.search(rf"\bdef {name}\(", python)]
    return problems
