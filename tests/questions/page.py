"""The outputs in docs/questions.md are what vgpusim prints today.

    VGPUSIM=build/release/bin/vgpusim python3 tests/questions/page.py

A line "…" stands for lines that are left out, and "…" at the end of a line for the rest of it.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import clusters

PAGE = Path(__file__).resolve().parents[2] / "docs" / "questions.md"
CUT = "…"


def is_like(line, shown):
    return line == shown or (shown.endswith(CUT) and line.startswith(shown[:-len(CUT)].rstrip()))


def first_missing(lines, shown):
    """The first line of the page that is not printed where it should be; None if all are."""
    position, may_skip = 0, False
    for line in shown:
        if line == CUT:
            may_skip = True
            continue
        places = range(position, len(lines) if may_skip else min(position + 1, len(lines)))
        place = next((i for i in places if is_like(lines[i], line)), None)
        if place is None:
            return line
        position, may_skip = place + 1, False
    return None if may_skip or position == len(lines) else f"and then: {lines[position]}"


def printed(program, command, folder):
    done = subprocess.run([program, *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"exit code {done.returncode}: {done.stderr.strip()}"]
    return done.stdout.rstrip("\n").split("\n")


def outputs(text):
    """The commands of the page in their order, with their lines."""
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        parts = re.split(r"^\$ (vgpusim [^\n]*)\n", block, flags=re.MULTILINE)
        yield from ((command, output.rstrip("\n").split("\n") if output.strip() else [CUT]) for command, output in zip(parts[1::2], parts[2::2]))


def main():
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        clusters.write_all(Path(folder))
        for command, shown in outputs(PAGE.read_text(encoding="utf-8")):
            lines = printed(os.environ["VGPUSIM"], command, folder)
            missing = first_missing(lines, shown)
            if missing is None:
                continue
            differing += 1
            print(f"{PAGE.name}: {command}: not printed: {missing}", *lines, sep="\n  ")
    print(f"{differing} of the outputs in {PAGE.name} differ from what vgpusim prints")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
