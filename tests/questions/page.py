"""The outputs in docs/questions.md are what vgpusim prints today.

    VGPUSIM=build/release/bin/vgpusim python3 tests/questions/page.py [--write]

A line "…" stands for lines that are left out: as many lines are shown before and after it as the page has. `--write` puts today's lines
into the page.
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


def shortened(lines, shown):
    """`lines` with as many left out as in `shown`, which the page has."""
    if CUT not in shown:
        return lines
    before = shown.index(CUT)
    after = len(shown) - 1 - before
    if len(lines) <= before + after:
        return lines
    return [*lines[:before], CUT, *lines[len(lines) - after:]]


def as_on_page(line, on_page):
    """A line whose end the page leaves out, as measured times."""
    return on_page if on_page.endswith(" " + CUT) and line.startswith(on_page[:-len(CUT)].rstrip()) else line


def printed(program, command, folder):
    done = subprocess.run([program, *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"exit code {done.returncode}: {done.stderr.strip()}"]
    return done.stdout.rstrip("\n").split("\n")


def renewed(program, text, folder):
    """The page with today's lines, and the commands whose lines differ."""
    differing = []

    def renew(block):
        parts = re.split(r"^\$ (vgpusim [^\n]*)\n", block[2], flags=re.MULTILINE)
        result = parts[0]
        for command, output in zip(parts[1::2], parts[2::2]):
            shown = output.rstrip("\n").split("\n") if output.strip() else []
            lines = shortened(printed(program, command, folder), shown)
            padded = [*shown, *[""] * len(lines)]
            lines = [as_on_page(line, padded[i]) for i, line in enumerate(lines)]
            if lines != shown:
                differing.append((command, shown, lines))
            result += f"$ {command}\n" + "".join(line + "\n" for line in lines)
        return block[1] + result + block[3]

    return re.sub(r"(```console\n)(.*?)(```)", renew, text, flags=re.DOTALL), differing


def main(arguments):
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        clusters.write_all(Path(folder))
        new_text, differing = renewed(os.environ["VGPUSIM"], text, folder)
    if arguments == ["--write"]:
        PAGE.write_text(new_text, encoding="utf-8")
        return 0
    for command, shown, lines in differing:
        print(f"{PAGE.name}: {command}")
        print("".join(f"  - {line}\n" for line in shown if line not in lines) + "".join(f"  + {line}\n" for line in lines if line not in shown))
    print(f"{len(differing)} of the outputs in {PAGE.name} differ from what vgpusim prints")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
