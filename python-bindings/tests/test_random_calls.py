"""random_calls.py, a few thousand calls of it. By hand and under AddressSanitizer it makes a million."""

import re
import subprocess
import sys
from pathlib import Path


def test_random_calls_do_not_end_the_interpreter():
    program = Path(__file__).with_name("random_calls.py")
    ended = subprocess.run([sys.executable, program, "4000", "3"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-5000:]
    assert "leaked" not in ended.stderr, ended.stderr[-5000:]  # nanobind says so of objects that are left
    half, whole = map(int, re.search(r"memory (\d+) MiB after half, (\d+) MiB", ended.stdout).groups())
    assert whole < half + 100, ended.stdout
