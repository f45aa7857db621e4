#!/usr/bin/env python3
"""Fails when clang-format would change a C++ file. Exit 77 (skipped) where there is no clang-format, except in CI.
Usage: format.py ROOT [--fix]"""
import os
import re
import shutil
import subprocess
import sys

from source import CPP, project_files

OLDEST = 18  # earlier ones lay out concepts and designated initialisers differently


def major_version(program):
    text = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"version (\d+)", text)
    return int(match.group(1)) if match else 0


def find_clang_format():
    for name in ("clang-format-19", "clang-format-18", "clang-format-20", "clang-format-21", "clang-format"):
        program = shutil.which(name)
        if program and major_version(program) >= OLDEST:
            return program
    return None


def main():
    root, fix = sys.argv[1], "--fix" in sys.argv[2:]
    program = find_clang_format()
    if program is None:
        print(f"SKIPPED: no clang-format >= {OLDEST} here, so the layout of the sources was not checked")
        return 1 if os.environ.get("CI") == "true" else 77
    files = [name for name in project_files(root) if name.endswith(CPP)]
    mode = ["-i"] if fix else ["--dry-run", "-Werror"]
    result = subprocess.run([program, "--style=file", *mode, *files], cwd=root, check=False)
    print(f"{program}: {len(files)} files")
    return 1 if result.returncode or not files else 0


if __name__ == "__main__":
    sys.exit(main())
