#!/usr/bin/env python3
"""The page on embedding shows the example and what it prints. Usage: page_test.py EXAMPLE ROOT [SOURCE]"""
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
    example, root = sys.argv[1], Path(sys.argv[2])
    name = sys.argv[3] if len(sys.argv) > 3 else "embedding.cpp"
    source = f"tests/embedding/{name}"
    prints = "what it prints" if name == "embedding.cpp" else f"what {name} prints"
    page = (root / PAGE).read_text(encoding="utf-8")
    printed = subprocess.run([example], stdout=subprocess.PIPE, check=True, encoding="utf-8", timeout=60).stdout
    failures = []
    if quoted(page, source, "cpp") != (root / source).read_text(encoding="utf-8"):
        failures.append(f"{PAGE} does not quote {source} byte for byte")
    if not printed or quoted(page, prints, "") != printed:
        failures.append(f"{PAGE} does not show what the example prints:\n{printed}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
