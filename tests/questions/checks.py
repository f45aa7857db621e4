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

# Answers that are known to differ, and how. Who makes one equal takes its line out: the test says so.
OPEN = {
    ("gpu-operator", 7): "search/mirror-7d9f8b6c5-0: vgpusim host full, from the objects not allowed",
    ("gpu-operator", 8): "search/mirror-7d9f8b6c5-0: vgpusim host full, from the objects not allowed",
    ("gpu-operator", 9): "spare with",
    ("gpu-operator", 10): "which is not ready",
    ("hami", 8): "vgpusim all used, from the objects not allowed",
    ("hami", 10): "which is not ready",
}


def main(names):
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        clusters.write_all(Path(folder))
        for name in names or clusters.CLUSTERS:
            questions = Questions(name, Path(folder))
            for number in range(1, 13):
                known = OPEN.get((name, number))
                try:
                    answer = f"equal: {getattr(questions, f'check_{number}')()}"
                    differences += known is not None
                    answer += " (and no longer open: take it out of OPEN)" if known else ""
                except Differs as difference:
                    is_known = known is not None and known in str(difference)
                    differences += not is_known
                    answer = f"{'open' if is_known else 'DIFFERS'}: {difference}"
                print(f"{name} {number}: {answer}", flush=True)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
