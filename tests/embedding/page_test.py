#!/usr/bin/env python3
"""The page on embedding shows the examples and what they print. Usage: page_test.py ROOT NAME=PROGRAM..."""
import subprocess
import sys
from pathlib import Path

PAGE = "docs/embedding.md"


def quoted(page, name, language):
    """What stands between the markers of that name, without the fence around it; None if there are none."""
    begin, end = f"<!-- begin {name} -->\n```{language}\n", f"```\n<!-- end {name} -->\n"
    if begin not in page or end not in page:
        return None
    return page.split(begin, 1)[1].split(end, 1)[0]


def main():
    root = Path(sys.argv[1])
    page = (root / PAGE).read_text(encoding="utf-8")
    failures = []
    for name, program in (argument.split("=", 1) for argument in sys.argv[2:]):
        source = f"tests/embedding/{name}.cpp"
        printed = subprocess.run([program], stdout=subprocess.PIPE, check=True, encoding="utf-8", timeout=60).stdout
        if quoted(page, source, "cpp") != (root / source).read_text(encoding="utf-8"):
            failures.append(f"{PAGE} does not quote {source} byte for byte")
        if not printed or quoted(page, f"what {name} prints", "") != printed:
            failures.append(f"{PAGE} does not show what {name} prints:\n{printed}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
