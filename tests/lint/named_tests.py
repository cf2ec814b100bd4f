"""Tests that the pages of reported cases name exist: a renamed test must be renamed there too."""

import re

PAGES = ("docs/sharding-cases.md", "docs/checkpoint-cases.md")


def check(root):
    cpp = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests").rglob("*.cpp")))
    python = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests").rglob("*.py")))
    return [problem for page in PAGES for problem in check_page(root, page, cpp, python)]


def check_page(root, page, cpp, python):
    text = (root / page).read_text(encoding="utf-8")
    cases = set(re.findall(r"\b([A-Z]\w+)\.([A-Z]\w+)\b", text))
    problems = [f"{page} names {suite}.{case}, which is no test" for suite, case in sorted(cases)
                if not re.search(rf"TEST(_[FP])?\(\s*{suite},\s*{case}\)", cpp)]
    problems += [f"{page} names {name}, which is no test"
                 for name in sorted(set(re.findall(r"\btest_\w+", text)))
                 if not re.search(rf"\bdef {name}\(", python)]
    return problems
