#!/usr/bin/env python3
"""Writes into case files what our model of Volcano decides: `loaded` of each node and `out` of each event.

A new case is one line without these two (docs/formats.md names the members). Run this on its file and read the outcome
before it is committed: cases_test.py only says that the model still decides what it decided then.

    make_cases.py [--check] VGPUSIM [FILE...]

Without files: all of tests/conformance/cases. With --check nothing is written, and the exit code is 1 where a file would
change.
"""

import argparse
import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"


def decided(vgpusim, path):
    result = subprocess.run([vgpusim, "conformance", "--impl", "compat:volcano", "--print", str(path)],
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(result.stderr.strip())
    return result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file would change")
    parser.add_argument("vgpusim", help="the command, as built")
    parser.add_argument("files", nargs="*", type=Path, default=sorted(CASES.glob("*.jsonl")))
    chosen = parser.parse_args()
    changed = 0
    for path in chosen.files:
        text = decided(chosen.vgpusim, path)
        if text == path.read_text(encoding="utf-8"):
            continue
        changed += 1
        print(f"{'differs' if chosen.check else 'written'}: {path}")
        if not chosen.check:
            path.write_text(text, encoding="utf-8")
    return 1 if chosen.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
