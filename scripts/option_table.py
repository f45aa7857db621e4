#!/usr/bin/env python3
"""The table of keys in docs/formats.md, made of `vgpusim options --json`. Usage: option_table.py VGPUSIM, which writes it."""
import json
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "formats.md"
BEGIN, END = "<!-- begin options -->\n", "<!-- end options -->\n"


def table(vgpusim):
    """The table as the page has it between its marks."""
    printed = subprocess.run([vgpusim, "options", "--json"], stdout=subprocess.PIPE, check=True, timeout=60).stdout
    lines = ["| key | flag | default | values | meaning |", "|---|---|---|---|---|"]
    for option in json.loads(printed):
        flag, default = (f"`{option[key]}`" if option[key] else "" for key in ("flag", "default"))
        lines.append(f"| `{option['name']}` | {flag} | {default} | {option['values']} | {option['help']} |")
    return "\n".join(lines) + "\n"


def shown():
    """What the page has there now."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN, 1)[1].split(END, 1)[0]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(BEGIN + shown() + END, BEGIN + table(sys.argv[1]) + END), encoding="utf-8")
