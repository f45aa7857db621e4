"""Asks vgpusim the twelve questions of docs/questions.md on three clusters, and finds each answer again from the objects.

    VGPUSIM=build/release/bin/vgpusim python3 tests/questions/checks.py [CLUSTER…]

The second calculation shares no code with vgpusim: model.py reads the objects. One line per question and cluster says
"equal" or what differs; the exit code is 1 if anything does.
"""

import sys
import tempfile
from pathlib import Path

import clusters
from asking import Differs
from of_changes import Questions


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


def main(names):
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        clusters.write_all(Path(folder))
        for name in names or clusters.CLUSTERS:
            questions = Questions(name, Path(folder))
            for number in range(1, 13):
                line, is_equal = answered(questions, number)
                print(f"{name} {number}: {line}", flush=True)
                differences += not is_equal
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
