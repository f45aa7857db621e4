"""Asks vgpusim the twelve questions of docs/questions.md on three clusters, and finds each answer again from the objects.

    VGPUSIM=build/release/bin/vgpusim python3 tests/questions/checks.py [CLUSTER…]

The second calculation shares no code with vgpusim: model.py reads the objects. One line per question and cluster says
"equal" or what differs; the exit code is 1 if anything does.
"""

import re
import sys
import tempfile
from pathlib import Path

import clusters
from asking import Differs
from of_changes import Questions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "questions.md"


def answered(questions, number):
    """The line about one question, and whether the answers are equal."""
    questions.aside = []
    try:
        compared = getattr(questions, f"check_{number}")()
    except Differs as difference:
        return f"DIFFERS: {difference}", False
    differing = sorted(set(questions.aside))
    if not differing:
        return f"equal: {compared}", True
    others = f"; and {len(differing) - 1} more" if len(differing) > 1 else ""
    return f"DIFFERS: {differing[0]}{others} (the rest equal: {compared})", False


def lines_of_page():
    """The lines that docs/questions.md has of these."""
    return re.search(r"## What the second calculation says.*?```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1].splitlines()


def main(names):
    differences = 0
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        clusters.write_all(Path(folder))
        for name in names or clusters.CLUSTERS:
            questions = Questions(name, Path(folder))
            for number in range(1, 13):
                line, is_equal = answered(questions, number)
                lines.append(f"{name} {number}: {line}")
                print(lines[-1], flush=True)
                differences += not is_equal
    if not names and not differences and lines != lines_of_page():
        print(f"{PAGE.name} has other lines")
        return 1
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
