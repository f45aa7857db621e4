"""The WebAssembly module answers as the program does, byte by byte: what it prints, its exit code and the files that it writes.

    VGPUSIM=build/release/bin/vgpusim python3 tests/web/equal_test.py [WORD…]     # all commands, or those with these words

With VGPUALLOC_WEB_SAMPLE=1, as in CI, a tenth of them: corpus.tenth_of.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corpus

SOURCE = Path(os.environ.get("VGA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
VGPUSIM = os.environ.get("VGPUSIM", "vgpusim")
WITHOUT_EXTRAS = os.environ.get("VGPUSIM_WITHOUT_EXTRAS")
MODULE = Path(os.environ.get("VGPUALLOC_WASM", SOURCE / "build" / "web" / "vgpualloc.wasm"))
STDIN = json.dumps({"kind": "List", "apiVersion": "v1", "items": []})
SKIPPED = 77
LISTED_MOST = 20  # of the commands that differ

# What was measured, and differs from call to call of the same program: where it stands, and what is compared in its place.
TIMES = [
    (re.compile(rb'"timing": ?\{[^{}]*\}'), b'"timing": {}'),
    (re.compile(rb'"plan_s": ?[0-9.e+-]+'), b'"plan_s": 0'),
    (re.compile(rb"planned in [0-9.]+ m?s"), b"planned in 0 ms"),
    (re.compile(rb"decisions +[0-9]+/s, p50 [0-9.]+ us, p99 [0-9.]+ us"), b"decisions"),
    (re.compile(rb"<h3>[^<]*, on this machine</h3>.*?</div>", re.DOTALL), b"<h3></h3>"),
    (re.compile(rb"<td>[^<]*, on this machine</td>.*?</tr>", re.DOTALL), b"<tr></tr>"),
]
LAST_COLUMN = re.compile(rb" +[0-9]+$", re.MULTILINE)  # of what `compare` prints: decisions per second
OTHER_FLAGS = re.compile(rb"(?:(?:Needs|Excludes):(?: --?[a-z-]+)+ ?)+")
NEEDS_SOLVER = "a vgpusim built with HiGHS"


def skip_or_fail(what):
    failing = os.environ.get("CI") == "true"
    print(f"{'FAILED' if failing else 'SKIPPED'}: {what}")
    sys.exit(1 if failing else SKIPPED)


def untimed(content):
    for pattern, instead in TIMES:
        content = pattern.sub(instead, content)
    return content


def printed_by(words, stdout):
    if words[:1] == ["compare"]:
        stdout = LAST_COLUMN.sub(b"", stdout)
    # CLI11 lists them by where they lie in memory.
    return OTHER_FLAGS.sub(lambda line: b" ".join(sorted(line.group().split())), stdout) if "help" in "".join(words) else stdout


def files_of(folder):
    """Path -> what tells that it was written anew."""
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.rglob("*") if path.is_file()}


class Answer:
    def __init__(self, words, code, stdout, stderr, files):
        self.code, self.stdout, self.stderr, self.files = code, printed_by(words, stdout), stderr, files

    def differences(self, other):
        """Names of what differs, each with both contents."""
        pairs = [("exit code", str(self.code).encode(), str(other.code).encode()), ("stdout", self.stdout, other.stdout),
                 ("stderr", self.stderr, other.stderr)]
        for name in sorted({*self.files, *other.files}):
            pairs.append((f"file {name}", self.files.get(name, b"(not written)"), other.files.get(name, b"(not written)")))
        return [(name, a, b) for name, a, b in pairs if a != b and untimed(a) != untimed(b)]


def native_answer(binary, place, words):
    before = files_of(place)
    done = subprocess.run([binary, *words], cwd=place, input=STDIN.encode(), capture_output=True, check=False, timeout=300,
                          env={"PATH": os.environ["PATH"], "HOME": str(place / "home")})
    written = {name: (place / name).read_bytes() for name, mark in files_of(place).items() if before.get(name) != mark}
    return Answer(words, done.returncode, done.stdout, done.stderr, written)


def module_answers(place, folder, commands):
    answers = folder / "answers"
    listed = folder / "list.json"
    listed.write_text(json.dumps({"module": str(MODULE), "place": str(place), "answers": str(answers), "commands": commands, "stdin": STDIN}))
    subprocess.run(["node", str(SOURCE / "tests" / "web" / "answers.mjs"), str(listed)], check=True, timeout=1200)
    for number, words in enumerate(commands):
        at = answers / str(number)
        files = {str(path.relative_to(at / "files")): path.read_bytes() for path in (at / "files").rglob("*") if path.is_file()}
        yield Answer(words, int((at / "code").read_text()), (at / "stdout").read_bytes(), (at / "stderr").read_bytes(), files)


def first_difference(a, b):
    """What is around the first byte that differs, without times."""
    a, b = untimed(a), untimed(b)
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    shown = [text[max(0, at - 60):at + 60].decode(errors="backslashreplace").replace("\n", "\\n") for text in (a, b)]
    return f"      native … {shown[0]}\n      module … {shown[1]}"


def says_that_it_has_no_solver(answer):
    return answer.code == 2 and NEEDS_SOLVER in answer.stderr.decode() and answer.stderr.count(b"\n") == 1 and not answer.files


def main():
    if not MODULE.exists():
        skip_or_fail(f"no {MODULE}: bash scripts/web.sh builds it")
    if not shutil.which("node"):
        skip_or_fail("no node here")
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        place, untouched = folder / "native", folder / "module"
        place.mkdir()
        corpus.lay_out(SOURCE, place)
        shutil.copytree(place, untouched)
        commands = [words for words in corpus.commands(SOURCE, place) if all(any(part in word for word in words) for part in sys.argv[1:])]
        if os.environ.get("VGPUALLOC_WEB_SAMPLE"):
            commands = corpus.tenth_of(commands)
        theirs = [native_answer(VGPUSIM, place, words) for words in commands]
        equal, without, failed = 0, 0, []
        for words, native, module in zip(commands, theirs, module_answers(untouched, folder, commands)):
            differences = native.differences(module)
            if differences and corpus.WITH_EXTRAS.search(" ".join(words)):
                if says_that_it_has_no_solver(module):
                    without += 1
                    continue
                if WITHOUT_EXTRAS:
                    differences = native_answer(WITHOUT_EXTRAS, place, words).differences(module)
            if differences:
                failed.append((words, differences))
            else:
                equal += 1
        for words, differences in failed[:LISTED_MOST]:
            print(f"  vgpusim {shlex.join(words)}")
            for name, a, b in differences[:2]:
                print(f"    {name} differs ({len(a)} and {len(b)} bytes)\n{first_difference(a, b)}")
        if len(failed) > LISTED_MOST:
            print(f"  … and {len(failed) - LISTED_MOST} more")
        print(f"{len(commands)} commands: {equal} answered byte by byte as the program does, {without} say that they need a solver, {len(failed)} differ")
        return 1 if failed or not equal else 0


if __name__ == "__main__":
    sys.exit(main())
