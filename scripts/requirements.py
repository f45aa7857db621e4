#!/usr/bin/env python3
"""Which test shows which requirement: docs/requirements.md from the labels of the tests, and whether it is current.

  requirements.py check   --root DIR --binary FOLDER=PROGRAM …   fails unless all is shown and the page says so
  requirements.py write   --root DIR --binary FOLDER=PROGRAM …   writes the page
  requirements.py compare --root DIR    tests/requirements/rows.json against the specification in VGPUALLOC_EVIDENCE

A label is a call of covers({"R023"}) (tests/requirements.hpp) in a case below tests/FOLDER, which PROGRAM runs.
A row without a label says in "shown" what shows it: "NAME: CASE", a test of ctest and the function or case in its files, or
"PAGE.md: WORDS", words that the page has to contain; and in "open" what is missing.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIST = "tests/requirements/rows.json"
PAGE = "docs/requirements.md"
KINDS = {"core": "Statements about the allocation library", "check": "Acceptance checks of CCE",
         "simulator": "Statements about simulation", "adapter": "Statements about scheduler and device plugin",
         "docs": "Statements for documents"}
TESTED = ("core", "check")  # of these every row needs a labelled test; of others it may be said what is missing
FIELDS = {"id", "kind", "seeds", "statement"}
SKIPPED = 77  # what ctest takes for a skipped test
CASE = re.compile(r"^(?:TEST|TEST_F|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)|^(?:TEST\w*|RC_\w+)\(|\bcovers\(\{([^}]*)\}\)",
                  re.MULTILINE)
# How tests are told to ctest (tests/**/CMakeLists.txt): a name, and arguments that name the files.
REGISTERED = re.compile(r"^\s*(vga_\w+_test|vga_add_tests|add_test)\(\s*(?:NAME\s+)?([\w.]+)([^()]*"
                        r"(?:\([^()]*\)[^()]*)*)\)", re.MULTILINE)
# How a case of that name begins, by the ending of the file.
BEGINS = {".py": r"\bdef {0}\(", ".go": r"^func {0}\(", ".sh": r"^{0}\(\)"}


def go_tests(folder, words):
    """The tests in the packages that a call of go names; `-C MODULE` before them. A module below has packages of its own."""
    if "-C" in words:
        folder = folder / words[words.index("-C") + 1]
    files = set()
    for word in words:
        if word.startswith("./"):
            package = folder / word.removesuffix("/...").removesuffix("...")
            files.update(package.glob("*_test.go"))
            if word.endswith("..."):
                files.update(file for file in package.glob("**/*_test.go")
                             if not any((above / "go.mod").exists() for above in file.parents
                                        if above != folder and folder in above.parents))
    return sorted(files)


def files_of_tests(root):
    """Name in ctest -> the files that it runs, as far as the CMake files say them."""
    tests = {}
    for cmake in sorted((root / "tests").rglob("CMakeLists.txt")):
        here = cmake.parent
        for command, name, rest in REGISTERED.findall(cmake.read_text(encoding="utf-8")):
            words = [word.strip('"') for word in rest.split()]
            if command == "vga_adapter_test":
                tests["adapters." + name] = go_tests(root / "adapters", words)
            elif command == "vga_add_tests":
                tests[name] = [here / word for word in words if word.endswith(".cpp")]
            elif command != "add_test":  # vga_cli_test and its like
                tests[f"{command.split('_')[1]}.{name}"] = [here / f"{name}_test.py"]
            else:
                tests[name] = [Path(word.replace("${CMAKE_CURRENT_SOURCE_DIR}", str(here))
                                    .replace("${PROJECT_SOURCE_DIR}", str(root)))
                               for word in words if Path(word).suffix in BEGINS]
    return tests


def has_case(path, case):
    if not path.is_file():
        return False
    if path.suffix == ".cpp":
        suite, _, name = case.partition(".")
        pattern = rf"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*{re.escape(suite)},\s*{re.escape(name)}\b"
    else:
        pattern = BEGINS[path.suffix].format(re.escape(case))
    return re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def why_not_shown(root, tests, entry):
    """What is wrong with one entry of "shown"; None if it names a case of a test, or words of a page, that are there."""
    name, separator, rest = entry.partition(": ")
    if not separator:
        return f"'{entry}', expected TEST: CASE or PAGE.md: WORDS"
    if name.endswith(".md"):
        if not (root / name).is_file():
            return f"there is no {name}"
        page = " ".join((root / name).read_text(encoding="utf-8").split())
        return None if rest in page else f"{name} does not say '{rest}'"
    if name not in tests:
        return f"ctest has no test {name}"
    return None if any(has_case(path, rest) for path in tests[name]) else f"the test {name} has no case {rest}"


def read_list(root):
    """The requirements, and what is wrong with their list."""
    rows = json.loads((root / LIST).read_text(encoding="utf-8"))
    problems = []
    ids = [row["id"] for row in rows]
    tests = files_of_tests(root)
    for row in rows:
        if not FIELDS <= set(row) <= FIELDS | {"shown", "open"} or row["kind"] not in KINDS or "|" in row["statement"]:
            problems.append(f"{LIST}: {row['id']}: needs id, kind ({', '.join(KINDS)}), seeds and statement")
        problems += [f"{LIST}: {row['id']}: {problem}" for entry in row.get("shown", [])
                     if (problem := why_not_shown(root, tests, entry))]
        if ids.count(row["id"]) > 1:
            problems.append(f"{LIST}: {row['id']} is there twice")
    return rows, problems


def labels_in(root):
    """(folder, case) -> the ids in its label, from the text of the tests; and labels that no case has."""
    labels, problems = {}, []
    for path in sorted((root / "tests").rglob("*_test.cpp")):
        folder, case = path.parent.relative_to(root / "tests").as_posix(), None
        for match in CASE.finditer(path.read_text(encoding="utf-8")):
            suite, name, ids = match.groups()
            if ids is None:
                case = f"{suite}.{name}" if name else None
            elif case is None or (folder, case) in labels:
                problems.append(f"{path.relative_to(root)}: a label belongs into a TEST or TEST_F, once: {ids}")
            else:
                labels[folder, case] = re.findall(r'"([^"]*)"', ids)
    return labels, problems


def run_cases(program, cases):
    """case -> (what became of it, the ids it reported)."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        try:
            subprocess.run([program, "--gtest_filter=" + ":".join(sorted(cases)), f"--gtest_output=json:{report}"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
            suites = json.loads(report.read_text(encoding="utf-8"))["testsuites"]
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}
    results = {}
    for suite in suites:
        for case in suite["testsuite"]:
            done = case["status"] == "RUN" and case["result"] == "COMPLETED"
            verdict = "failed" if case.get("failures") else "passed" if done else "skipped"
            results[f"{suite['name']}.{case['name']}"] = (verdict, case.get("covers", "").split())
    return results


def run_labels(labels, programs):
    """(folder, case) -> what became of it; and every label that was not reported by a case that passed."""
    verdicts, problems = {}, []
    for folder in sorted({folder for folder, _ in labels}):
        cases = {case: ids for (at, case), ids in labels.items() if at == folder}
        if folder not in programs:
            problems.append(f"tests/{folder}: has labels, and no program was named that runs them")
        results = run_cases(programs[folder], cases) if folder in programs else {}
        for case, ids in sorted(cases.items()):
            verdict, reported = results.get(case, ("not run", []))
            verdicts[folder, case] = verdict
            if verdict != "passed":
                problems.append(f"tests/{folder}: {case}: {verdict}")
            elif reported != ids:
                problems.append(f"tests/{folder}: {case}: labelled {ids} but reported {reported}")
    return verdicts, problems


def unlisted_or_unshown(rows, labels):
    known = [row["id"] for row in rows]
    used = {requirement for ids in labels.values() for requirement in ids}
    problems = [f"tests/{folder}: {case}: {requirement} is no requirement of {LIST}"
                for (folder, case), ids in sorted(labels.items()) for requirement in ids if requirement not in known]
    for row in rows:
        if row["id"] in used or (row["kind"] not in TESTED and ("shown" in row or "open" in row)):
            continue
        problems.append(f"{row['id']} has no test" if row["kind"] in TESTED
                        else f"{row['id']} has no test, and nothing says what shows it or what is missing")
    return problems


def page(rows, labels, verdicts):
    """The page as text. Nothing in it depends on when or where it was made."""
    def shown(row):
        return [key for key, ids in sorted(labels.items()) if row["id"] in ids]

    def name(key):
        folder, case = key
        verdict = verdicts.get(key, "not run")
        return f"`{folder.removeprefix('unit/')}: {case}`" + ("" if verdict == "passed" else f" (**{verdict}**)")

    lines = ["# Requirements and their tests", "",
             "`scripts/requirements.py write` makes this page from the labels of the tests (`tests/requirements.hpp`). Do not",
             "edit it: the test `requirements.current` fails if page and labels differ. If a behaviour is broken, the tests that",
             "its row names fail. Folders are those below `tests/` (`unit/` left out). `cli.…`, `adapters.…` and similar names",
             "are tests by their name in ctest, with the case in them. Words in quotes must be in the page that is named; the",
             "same test checks that."]

    def entry_of(text):
        place, _, words = text.partition(": ")
        return f'[{place}]({os.path.relpath(place, Path(PAGE).parent)}): "{words}"' if place.endswith(".md") else f"`{text}`"

    def cell(row):
        parts = [name(key) for key in shown(row)] + [entry_of(text) for text in row.get("shown", [])]
        return "<br>".join(parts + ([row["open"]] if "open" in row else [])) or "**none**"

    statements = sum(row["kind"] != "check" for row in rows)
    lines += ["", f"The project began with {statements} statements about what it should do. They come from five documents,",
              "numbered 000 to 004, which are not part of the repository; the column *source* gives the numbers. If no test has the",
              "label of a statement, the last column names the page or the tests that show it, or states that nothing shows it yet."]
    for kind, title in KINDS.items():
        of_kind = [row for row in rows if row["kind"] == kind]
        good = [row for row in of_kind if shown(row) and all(verdicts.get(key) == "passed" for key in shown(row))]
        nothing = sum(not shown(row) and "shown" not in row for row in of_kind)
        rest = len(of_kind) - len(good) - nothing
        lines += ["", f"## {title}: kind `{kind}`", "", f"{len(of_kind)} in all: {len(good)} have labelled tests, all of which pass; "
                  f"{rest} are shown by what the last column names; of {nothing} nothing is shown.", "",
                  "| id | source | statement | shown by |", "|---|---|---|---|"]
        lines += [f"| {row['id']} | {row['seeds']} | {row['statement']} | {cell(row)} |" for row in of_kind]
    return "\n".join(lines) + "\n"


def check_or_write(root, programs, writes):
    rows, problems = read_list(root)
    labels, wrong_labels = labels_in(root)
    verdicts, wrong_runs = run_labels(labels, programs)
    problems += wrong_labels + wrong_runs + unlisted_or_unshown(rows, labels)
    text = page(rows, labels, verdicts)
    path = root / PAGE
    if writes:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        problems.append(f"{PAGE} is not what the tests say: scripts/requirements.py write (target requirements_page)")
    for problem in problems:
        print(problem)
    cases = len(labels)
    print(f"{len(rows)} requirements, {cases} labelled tests, {len(problems)} problems")
    return 1 if problems else 0


def rows_of_specification(folder):
    """id -> kind and seeds of the rows that the list has to have."""
    text = (folder / "SEED-REQUIREMENTS.md").read_text(encoding="utf-8")
    rows = {row: (kind, " ".join(re.findall(r"\d{3}", seeds)))
            for row, seeds, kind in re.findall(r"^\| (R\d+) \| ([^|]*) \| (core|simulator|adapter|docs) \|", text,
                                             re.MULTILINE)}
    checks = re.findall(r"^\| (C\d+) \|", (folder / "SPEC-cce.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {**rows, **{check: ("check", "004") for check in checks}}


def compare(root):
    folder = Path(os.environ.get("VGPUALLOC_EVIDENCE") or "/nonexistent") / "specs"
    if not (folder / "SEED-REQUIREMENTS.md").is_file():
        failing = os.environ.get("CI") == "true"
        print(f"{'FAILED' if failing else 'SKIPPED'}: VGPUALLOC_EVIDENCE names no folder with specs/SEED-REQUIREMENTS.md")
        return 1 if failing else SKIPPED
    rows, problems = read_list(root)
    listed = {row["id"]: (row["kind"], row["seeds"]) for row in rows}
    specified = rows_of_specification(folder)
    for requirement in sorted(listed.keys() | specified.keys()):
        if listed.get(requirement) != specified.get(requirement):
            problems.append(f"{requirement}: {LIST} says {listed.get(requirement)}, the specification "
                            f"{specified.get(requirement)}")
    for problem in problems:
        print(problem)
    print(f"{len(specified)} rows of the specification, {len(problems)} problems")
    return 1 if problems or not specified else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["check", "write", "compare"])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--binary", action="append", default=[], metavar="FOLDER=PROGRAM")
    arguments = parser.parse_args()
    if arguments.what == "compare":
        return compare(arguments.root)
    programs = dict(binary.split("=", 1) for binary in arguments.binary)
    return check_or_write(arguments.root, programs, arguments.what == "write")


if __name__ == "__main__":
    sys.exit(main())
